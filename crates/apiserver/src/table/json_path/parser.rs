//! Reads JSON paths, with the quirks that definitions in the wild rely on: `['a\.b']` is one key, and `['a.b']` is two.

use serde_json::Value;

use super::{Filter, Operator, Slice, Step};

/// Filters in filters, and keys in brackets.
const DEEPEST: usize = 16;

pub(super) fn parse(text: &str) -> Option<Vec<Step>> {
    steps(text, 0)
}

fn steps(text: &str, depth: usize) -> Option<Vec<Step>> {
    if depth > DEEPEST {
        return None;
    }
    let (mut steps, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        rest = match first {
            // What follows would be text around the path in a template.
            '}' => break,
            ' ' | '@' | '$' => after,
            '[' if rest.starts_with("[?(") => filter(&rest[3..], depth, &mut steps)?,
            '[' => brackets(after, depth, &mut steps)?,
            '.' if rest.starts_with("..") => descent(&rest[2..], &mut steps)?,
            '.' => field(after, &mut steps)?,
            '"' | '\'' => quoted(after, first, &mut steps)?,
            '+' | '-' | '0'..='9' => number(rest, &mut steps)?,
            letter if letter == '_' || letter.is_alphanumeric() => word(rest, &mut steps),
            _ => return None,
        };
    }
    Some(steps)
}

fn is_terminator(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

/// A name up to what ends it, with backslashes taken off the characters that they protect.
fn field<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    let (mut name, mut characters) = (String::new(), text.char_indices());
    let mut end = text.len();
    while let Some((place, character)) = characters.next() {
        if character == '\\' {
            name.extend(Some(characters.next()?.1).filter(|&protected| protected != '\\'));
        } else if is_terminator(character) {
            end = place;
            break;
        } else {
            name.push(character);
        }
    }
    steps.push(if name == "*" { Step::Wildcard } else { Step::Field(name) });
    Some(&text[end..])
}

fn descent<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    if steps.last() == Some(&Step::Descent) {
        return None;
    }
    steps.push(Step::Descent);
    match text.chars().next() {
        Some(letter) if letter == '_' || letter.is_alphanumeric() => field(text, steps),
        _ => Some(text),
    }
}

fn brackets<'a>(text: &'a str, depth: usize, steps: &mut Vec<Step>) -> Option<&'a str> {
    let (inside, rest) = text.split_once(']').filter(|(inside, _)| !inside.contains('\n'))?;
    let parts: Vec<&str> = inside.split(',').collect();
    if parts.len() > 1 {
        let paths = parts.iter().map(|part| self::steps(&format!("[{}]", part.trim_matches(' ')), depth + 1));
        steps.push(Step::Union(paths.collect::<Option<_>>()?));
    } else if let Some(key) = key(inside) {
        steps.extend(self::steps(&format!(".{key}"), depth + 1)?);
    } else {
        steps.push(Step::Slice(slice(inside)?));
    }
    Some(rest)
}

fn key(inside: &str) -> Option<&str> {
    inside.strip_prefix('\'')?.strip_suffix('\'').filter(|key| !key.contains('\''))
}

fn slice(inside: &str) -> Option<Slice> {
    let inside = if inside == "*" { ":" } else { inside };
    let parts: Vec<&str> = inside.split(':').collect();
    if parts.len() > 3 {
        return None;
    }
    let bound = |index: usize| match parts.get(index).copied().unwrap_or_default() {
        "" => Some(None),
        text if text.starts_with('+') => None,
        text => text.parse::<i64>().ok().map(Some),
    };
    let (start, is_index) = (bound(0)?, parts.len() == 1);
    let end = if is_index { Some(start.unwrap_or_default().checked_add(1)?) } else { bound(1)? };
    Some(Slice { start, end, step: bound(2)?, is_index })
}

fn filter<'a>(text: &'a str, depth: usize, steps: &mut Vec<Step>) -> Option<&'a str> {
    let end = filter_end(text)?;
    let (inside, rest) = (&text[..end], text[end + 1..].strip_prefix(']')?);
    steps.push(Step::Filter(match comparison(inside) {
        None => Filter { left: self::steps(inside, depth + 1)?, comparison: None },
        Some((left, operator, right)) => Filter {
            left: self::steps(left, depth + 1)?,
            comparison: Some((operator, self::steps(right, depth + 1)?)),
        },
    }));
    Some(rest)
}

/// The closing parenthesis. One that is quoted does not close.
fn filter_end(text: &str) -> Option<usize> {
    let (mut quote, mut is_closed, mut before) = (None, false, '(');
    for (place, character) in text.char_indices() {
        match (character, quote) {
            ('\n', _) => return None,
            ('"' | '\'', None) => quote = Some(character),
            ('"' | '\'', Some(quote)) if character == quote && before != '\\' => is_closed = true,
            (')', quote) if quote.is_some() == is_closed => return Some(place),
            _ => {}
        }
        before = character;
    }
    None
}

/// A comparison has something before and behind its operator, which may be one that nobody knows.
fn comparison(inside: &str) -> Option<(&str, Operator, &str)> {
    let is_sign = |character: char| "!<>=".contains(character);
    let start = inside.find(is_sign).filter(|&start| start > 0)?;
    let most = inside.len() - start - 1;
    let signs = inside[start..].find(|character| !is_sign(character)).unwrap_or(most);
    if signs == 0 {
        return None;
    }
    let (operator, right) = inside[start..].split_at(signs);
    Some((&inside[..start], Operator::parse(operator), right))
}

impl Operator {
    fn parse(text: &str) -> Self {
        match text {
            "==" => Self::Equal,
            "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            _ => Self::Unknown,
        }
    }
}

fn quoted<'a>(text: &'a str, quote: char, steps: &mut Vec<Step>) -> Option<&'a str> {
    let (mut content, mut characters) = (String::new(), text.char_indices());
    while let Some((place, character)) = characters.next() {
        match character {
            '\n' => return None,
            '\\' => content.push(characters.next()?.1),
            end if end == quote => {
                steps.push(Step::Constant(content.into()));
                return Some(&text[place + 1..]);
            }
            other => content.push(other),
        }
    }
    None
}

fn number<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    let unsigned = text.trim_start_matches(['+', '-']);
    let signs = text.len() - unsigned.len();
    let digits = unsigned.find(|it: char| it != '.' && !it.is_ascii_digit()).unwrap_or(unsigned.len());
    let (number, rest) = text.split_at(signs + digits);
    let constant = match number.parse::<i64>() {
        Ok(whole) => Value::from(whole),
        Err(_) => Value::from(number.parse::<f64>().ok()?),
    };
    steps.push(Step::Constant(constant));
    Some(rest)
}

fn word<'a>(text: &'a str, steps: &mut Vec<Step>) -> &'a str {
    let (word, rest) = text.split_at(text.find(is_terminator).unwrap_or(text.len()));
    steps.push(match word {
        "true" => Step::Constant(true.into()),
        "false" => Step::Constant(false.into()),
        _ => Step::Word,
    });
    rest
}
