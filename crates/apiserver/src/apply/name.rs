//! What managers are called.

use std::sync::LazyLock;

use regex::Regex;

/// In bytes.
pub(crate) const LONGEST_MANAGER: usize = 128;

static PRINTABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$").expect("the expression is a constant that compiles")
});

/// As Go has it: letters, marks, numbers, punctuation, symbols and the plain space.
pub(crate) fn is_printable(character: char) -> bool {
    PRINTABLE.is_match(character.encode_utf8(&mut [0; 4]))
}

/// The name under which a write that is not an apply is recorded: the one that was asked for, or else what the client
/// says it is before the first slash.
pub fn manager_name(field_manager: &str, user_agent: &str) -> String {
    if !field_manager.is_empty() {
        return field_manager.to_owned();
    }
    let product = user_agent.split('/').next().unwrap_or_default();
    let mut name: String = product.chars().filter(|character| is_printable(*character)).collect();
    name.truncate(name.floor_char_boundary(LONGEST_MANAGER));
    name
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
}
