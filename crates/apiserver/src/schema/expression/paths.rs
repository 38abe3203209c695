//! Paths to fields as definitions write them: `.spec.labels['app']`. They must lead somewhere in the schema.

use crate::schema::{Schema, Shape};

/// A path that leads to a field.
pub(crate) struct Found<'a> {
    /// As errors write it: without the first dot, and keys of maps in brackets.
    pub path: String,
    pub schema: &'a Schema,
}

/// Follows a path from a schema, or says in Kubernetes' words why that does not work.
pub(crate) fn find<'a>(path: &str, schema: &'a Schema, allows_brackets: bool) -> Result<Found<'a>, String> {
    let mut found = Found { path: String::new(), schema };
    let mut tokens = tokens(path).into_iter();
    while let Some(token) = tokens.next() {
        match token {
            "[" if !allows_brackets => return Err("array notation is not allowed".into()),
            "[" => {
                let quoted = tokens.next().ok_or_else(end)?;
                found.enter(&unquoted(quoted)?)?;
                match tokens.next().ok_or_else(end)? {
                    "]" => {}
                    other => return Err(format!("expected ] but got {other}")),
                }
            }
            "." => found.enter(tokens.next().ok_or_else(end)?)?,
            other => return Err(format!("expected [ or . but got: {other}")),
        }
    }
    Ok(found)
}

fn end() -> String {
    "unexpected end of JSON path".into()
}

impl Found<'_> {
    fn enter(&mut self, name: &str) -> Result<(), String> {
        let nowhere = || "does not refer to a valid field".to_owned();
        let Shape::Object(fields) = &self.schema.shape else { return Err(nowhere()) };
        if fields.known.is_empty() {
            self.schema = fields.others.as_ref().ok_or_else(nowhere)?;
            self.path.extend(["[", name, "]"]);
            return Ok(());
        }
        self.schema = fields.known.get(name).ok_or_else(nowhere)?;
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
        Ok(())
    }
}

/// Dots and brackets stand alone; what is between them, and what is in quotes, is one token.
fn tokens(path: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '.' | '[' | ']' => 1,
            '\'' => closing_quote(rest).unwrap_or(rest.len()),
            _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after;
    }
    tokens
}

fn closing_quote(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (1..bytes.len()).find(|at| bytes[*at] == b'\'' && bytes[at - 1] != b'\\').map(|at| at + 1)
}

fn unquoted(token: &str) -> Result<String, String> {
    let inside = token.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    let inside = inside.ok_or_else(|| format!("expected single quoted string but got {token}"))?;
    let mut text = String::with_capacity(inside.len());
    let mut rest = inside.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        text.push(match rest.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some(plain @ ('\'' | '\\')) => plain,
            other => {
                let other = other.map(String::from).unwrap_or_default();
                return Err(format!("invalid string literal: invalid escape char \\{other}"));
            }
        });
    }
    Ok(text)
}
