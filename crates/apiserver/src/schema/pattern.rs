//! Patterns of definitions. They are written for Go's regular expressions; the few places where ours reads the same
//! text in another way are rewritten, and what cannot be matched in linear time and bounded memory is refused.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

/// Of a compiled pattern, in bytes. A pattern of a definition takes a few kilobytes.
const MOST_MEMORY: usize = 4 << 20;

/// The pattern, or why it is none in Go's words.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let ours = translate(pattern);
    let built = RegexBuilder::new(&ours).size_limit(MOST_MEMORY).nest_limit(100).build();
    built.map_err(|error| format!("error parsing regexp: {}", reason(pattern, &error)))
}

fn reason(pattern: &str, error: &regex::Error) -> String {
    let text = error.to_string();
    let known = [
        ("unclosed group", "missing closing )"),
        ("unopened group", "unexpected )"),
        ("unclosed character class", "missing closing ]"),
        ("repetition operator missing expression", "missing argument to repetition operator"),
        ("incomplete escape", "trailing backslash at end of expression"),
        ("unrecognized escape", "invalid escape sequence"),
        ("invalid character class range", "invalid character class range"),
        ("look-around", "invalid or unsupported Perl syntax"),
        ("exceeds size limit", "expression too large"),
    ];
    let found = known.iter().find(|(ours, _)| text.contains(ours));
    let what = found.map_or("invalid or unsupported Perl syntax", |(_, go)| go);
    if what.starts_with("trailing") { format!("{what}: ``") } else { format!("{what}: `{pattern}`") }
}

/// Go's classes are of ASCII, its brackets do not nest, and braces that count nothing are plain characters.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(character) = rest.next() {
        match character {
            '\\' => escape(&mut rest, &mut out),
            '[' if in_class => inner_bracket(&mut rest, &mut out),
            '[' => {
                in_class = true;
                out.push('[');
                open_class(&mut rest, &mut out);
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => out.extend(['\\', character]),
            '{' if !in_class && !counts(&rest) => out.push_str("\\{"),
            other => out.push(other),
        }
    }
    out
}

/// Right after the bracket a closing one is a member.
fn open_class(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    if rest.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    if rest.next_if_eq(&']').is_some() {
        out.push_str("\\]");
    }
}

/// Inside a class a bracket begins a named class, such as `[:alpha:]`, or is a member.
fn inner_bracket(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    let name: String = rest.clone().skip(1).take_while(|it| *it == '^' || it.is_ascii_lowercase()).collect();
    let whole = format!(":{name}:]");
    if rest.clone().take(whole.len()).eq(whole.chars()) {
        rest.nth(whole.len() - 1);
        out.extend(["[", &whole]);
    } else {
        out.push_str("\\[");
    }
}

fn escape(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    match rest.next() {
        Some('d') => out.push_str("[0-9]"),
        Some('D') => out.push_str("[^0-9]"),
        Some('w') => out.push_str("[0-9A-Za-z_]"),
        Some('W') => out.push_str("[^0-9A-Za-z_]"),
        Some('s') => out.push_str(r"[\t\n\f\r ]"),
        Some('S') => out.push_str(r"[^\t\n\f\r ]"),
        Some('b') => out.push_str(r"(?-u:\b)"),
        Some('B') => out.push_str(r"(?-u:\B)"),
        Some('Q') => quoted(rest, out),
        Some(other) => out.extend(['\\', other]),
        None => out.push('\\'),
    }
}

fn quoted(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    let mut text = String::new();
    while let Some(character) = rest.next() {
        if character == '\\' && rest.next_if_eq(&'E').is_some() {
            break;
        }
        text.push(character);
    }
    out.push_str(&regex::escape(&text));
}

/// Whether a brace is followed by what makes it a count: `3}`, `3,}` or `3,5}`.
fn counts(rest: &Peekable<Chars<'_>>) -> bool {
    let inside: String = rest.clone().take_while(|character| *character != '}').take(12).collect();
    let closed = rest.clone().nth(inside.chars().count()) == Some('}');
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_count = match inside.split_once(',') {
        None => is_number(&inside),
        Some((least, most)) => is_number(least) && (most.is_empty() || is_number(most)),
    };
    closed && is_count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        let matches = |pattern: &str, text: &str| compile(pattern).unwrap().is_match(text);
        assert!(!matches(r"^\d+$", "٣") && matches(r"^\d+$", "3"));
        assert!(matches(r"^[[]$", "[") && matches(r"^[]a]+$", "]a") && matches("^[a&&b]+$", "a&b"));
        assert!(matches(r"^a{$", "a{") && matches("^a{,2}$", "a{,2}") && matches("^a{2}$", "aa"));
        assert!(matches("^[a:]*z$", "a:z") && matches("^[[:]+$", "[:") && matches("^[[:^alpha:]]$", "1"));
        assert!(matches(r"^[[:alpha:]_]+$", "ab_") && matches(r"^\Qa.b\E$", "a.b"));
        assert!(!matches(r"^[\w]+$", "é") && matches("^.{1}$", "é"));
    }

    #[test]
    fn what_is_no_pattern_is_said_in_gos_words() {
        let why = |pattern: &str| compile(pattern).unwrap_err();
        assert_eq!(why("a("), "error parsing regexp: missing closing ): `a(`");
        assert_eq!(
            why("(((a{1000}){1000}){1000})"),
            "error parsing regexp: expression too large: `(((a{1000}){1000}){1000})`"
        );
    }
}
