//! The names of fields in expressions: what is no identifier of CEL is written out in letters.

/// Words that CEL keeps for itself.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// None where a field cannot be named in an expression at all.
pub(super) fn escape(name: &str) -> Option<String> {
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let mut escaped = String::with_capacity(name.len());
    let mut rest = name.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '_' if rest.next_if_eq(&'_').is_some() => escaped.push_str("__underscores__"),
            '.' => escaped.push_str("__dot__"),
            '-' => escaped.push_str("__dash__"),
            '/' => escaped.push_str("__slash__"),
            plain if plain.is_ascii_alphanumeric() || plain == '_' => escaped.push(plain),
            _ => return None,
        }
    }
    Some(escaped)
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn names_are_escaped_as_kubernetes_does() {
        let escaped = |name: &str| escape(name).unwrap();
        assert_eq!(escaped("if"), "__if__");
        assert_eq!(escaped("a-b.c/d"), "a__dash__b__dot__c__slash__d");
        assert_eq!(escaped("__u"), "__underscores__u");
        assert_eq!((escape("1a"), escape("a b")), (None, None));
    }
}
