//! What managers are called.

use std::sync::LazyLock;

use regex::Regex;

use crate::field;

/// In bytes.
const LONGEST: usize = 128;

static UNPRINTABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[^\p{L}\p{M}\p{N}\p{P}\p{S} ]").expect("the expression is a constant that compiles")
});

/// The name under which a write that is not an apply is recorded: the one that was asked for, or else what the client
/// says it is before the first slash.
pub fn manager_name(field_manager: &str, user_agent: &str) -> String {
    if !field_manager.is_empty() {
        return field_manager.to_owned();
    }
    let product = user_agent.split('/').next().unwrap_or_default();
    let mut name = UNPRINTABLE.replace_all(product, "").into_owned();
    name.truncate(name.floor_char_boundary(LONGEST));
    name
}

/// What is wrong with the `fieldManager` of a request, or with the `manager` of an entry: `field` names it.
pub fn validate_manager(field: &str, name: &str) -> Vec<field::Error> {
    let mut errors = Vec::new();
    if name.len() > LONGEST {
        errors.push(field::Error::too_long(field, LONGEST));
    }
    for unprintable in UNPRINTABLE.find_iter(name) {
        let code = unprintable.as_str().chars().next().unwrap_or_default() as u32;
        let detail = format!("invalid character U+{code:04X} (at position {})", unprintable.start());
        errors.push(field::Error::invalid(field, name, detail));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_agent_names_those_who_do_not() {
        assert_eq!(manager_name("me", "kubectl/v1.36 (linux)"), "me");
        assert_eq!(manager_name("", "kubectl/v1.36 (linux)"), "kubectl");
        assert_eq!(manager_name("", "a\u{7}b\u{ad}c d"), "abc d");
        assert_eq!(manager_name("", &"é".repeat(70)), "é".repeat(64));
        assert_eq!(manager_name("", ""), "");
    }

    #[test]
    fn names_are_short_and_printable() {
        assert_eq!(validate_manager("fieldManager", "fine name-1.é"), []);
        let errors: Vec<String> =
            validate_manager("fieldManager", "a\nb").iter().map(field::Error::to_string).collect();
        let expected = "fieldManager: Invalid value: \"a\\nb\": invalid character U+000A (at position 1)";
        assert_eq!(errors, [expected]);
        let errors = validate_manager("fieldManager", &"x".repeat(129));
        assert_eq!(errors[0].to_string(), "fieldManager: Too long: may not be more than 128 bytes");
    }
}
