//! Whether the text of a selector can be read. What it selects is not asked here.

use crate::security::names::{key_problems, value_problems};

/// `a=b,c!=d`, with `\` before a comma, an equals sign or itself in a value.
pub(super) fn is_field_selector(text: &str) -> bool {
    terms(text).into_iter().filter(|term| !term.is_empty()).all(is_field_term)
}

/// `a`, `!a`, `a=b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a>1`, and several of these between commas.
pub(super) fn is_label_selector(text: &str) -> bool {
    Labels { tokens: tokens(text), position: 0 }.read().is_some()
}

fn terms(text: &str) -> Vec<&str> {
    let (mut terms, mut start, mut escaped) = (Vec::new(), 0, false);
    for (position, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..position]);
                start = position + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn is_field_term(term: &str) -> bool {
    let starts = term.char_indices().map(|(position, _)| &term[position..]);
    let value = starts.into_iter().find_map(|rest| {
        let operators = ["!=", "==", "="];
        operators.into_iter().find_map(|operator| rest.strip_prefix(operator))
    });
    value.is_some_and(is_field_value)
}

fn is_field_value(value: &str) -> bool {
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' if !matches!(characters.next(), Some('\\' | ',' | '=')) => return false,
            ',' | '=' => return false,
            _ => {}
        }
    }
    true
}

fn tokens(text: &str) -> Vec<&str> {
    let is_special = |character: char| "=!(),<>".contains(character);
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let two = ["==", "!="].iter().any(|operator| rest.starts_with(operator));
        let end = match first {
            _ if two => 2,
            first if is_special(first) => 1,
            _ => rest.find(|end: char| is_special(end) || end.is_ascii_whitespace()).unwrap_or(rest.len()),
        };
        tokens.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    tokens
}

struct Labels<'a> {
    tokens: Vec<&'a str>,
    position: usize,
}

impl<'a> Labels<'a> {
    fn read(&mut self) -> Option<()> {
        if self.tokens.is_empty() {
            return Some(());
        }
        loop {
            self.requirement()?;
            match self.next() {
                None => return Some(()),
                Some(",") => {}
                Some(_) => return None,
            }
        }
    }

    fn requirement(&mut self) -> Option<()> {
        let negated = self.take("!");
        self.next().filter(|key| key_problems(key).is_empty())?;
        let ends = matches!(self.peek(), None | Some(","));
        if negated || ends {
            return ends.then_some(());
        }
        match self.next()? {
            "=" | "==" | "!=" => self.value(),
            "in" | "notin" => self.values(),
            ">" | "<" => {
                let number = self.next().filter(|number| value_problems(number).is_empty())?;
                number.parse::<i64>().ok().map(drop)
            }
            _ => None,
        }
    }

    fn value(&mut self) -> Option<()> {
        match self.peek() {
            None | Some(",") => Some(()),
            Some(value) => {
                self.position += 1;
                value_problems(value).is_empty().then_some(())
            }
        }
    }

    fn values(&mut self) -> Option<()> {
        self.take("(").then_some(())?;
        loop {
            match self.next()? {
                ")" => return Some(()),
                "," => {}
                value if value_problems(value).is_empty() => match self.next()? {
                    ")" => return Some(()),
                    "," => {}
                    _ => return None,
                },
                _ => return None,
            }
        }
    }

    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.position).copied()
    }

    fn next(&mut self) -> Option<&'a str> {
        let token = self.peek()?;
        self.position += 1;
        Some(token)
    }

    fn take(&mut self, wanted: &str) -> bool {
        let found = self.peek() == Some(wanted);
        self.position += usize::from(found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_selectors_are_read_as_kubectl_writes_them() {
        for text in
            ["", "a", "!a", "a=b,c!=d", "a == b", "x.io/a in (b, c)", "a notin ()", "a=", "a>5", "a in (,b)"]
        {
            assert!(is_label_selector(text), "{text}");
        }
        for text in
            ["a in (", "a b", ",a", "a,", "a=b=c", "a in b", "!a=b", "a>x", "a<-3", "-a", "a=(", "!", "a/b/c"]
        {
            assert!(!is_label_selector(text), "{text}");
        }
    }

    #[test]
    fn field_selectors_know_escapes() {
        for text in ["", "a=b", "a==b,c!=d", r"a=b\,c", r"a=\\", "a=,", ",,"] {
            assert!(is_field_selector(text), "{text}");
        }
        for text in ["a", "!!", r"a=\x", r"a=\", "a=b=c"] {
            assert!(!is_field_selector(text), "{text}");
        }
    }
}
