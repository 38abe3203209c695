//! Names of branches: which are possible, and what a task's own is called if nobody says.

/// Whether git takes it for a branch, by the rules of `git check-ref-format --branch`, and nobody takes it for anything else.
pub fn is_possible(name: &str) -> bool {
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && !ends_with_lock(part);
    let forbidden =
        |letter: char| letter.is_control() || letter.is_whitespace() || "~^:?*[\\".contains(letter);
    name.len() <= 255
        && name.split('/').all(part)
        && !name.contains(forbidden)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
        && !name.starts_with('-')
        && !name.starts_with("refs/")
        && !["@", "HEAD"].contains(&name)
}

/// git takes it for its own lock, whatever its letters' case, where names of files have none.
fn ends_with_lock(part: &str) -> bool {
    part.len() >= 5
        && part.is_char_boundary(part.len() - 5)
        && part[part.len() - 5..].eq_ignore_ascii_case(".lock")
}

/// What the branch of a task is called if nobody says: after what it is about, and unlike any other's.
pub fn derived(text: &str, id: &str) -> String {
    const LONGEST: usize = 40;
    let mut slug = String::new();
    for word in text.lines().next().unwrap_or_default().split(|letter: char| !letter.is_ascii_alphanumeric())
    {
        let joined = slug.len() + usize::from(!slug.is_empty()) + word.len();
        if word.is_empty() || joined > LONGEST {
            continue;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(&word.to_ascii_lowercase());
    }
    let unique: String = id.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    if slug.is_empty() { format!("agent/{unique}") } else { format!("agent/{slug}-{unique}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_judged_as_git_judges_them() {
        for name in ["main", "feature/x", "agent/fix-1", "a.b", "ünder", "a@b"] {
            assert!(is_possible(name), "{name}");
        }
        let wrong = [
            "",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a..b",
            "a b",
            "a~",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "a.",
            "a.lock",
            "a.LOCK/b",
            "@",
            "HEAD",
            "a@{b",
            "-a",
            "refs/heads/a",
            "a\u{7f}",
            "a\nb",
        ];
        for name in wrong {
            assert!(!is_possible(name), "{name:?}");
        }
    }

    #[test]
    fn a_branch_is_named_after_its_task() {
        assert_eq!(
            derived("Fix the README, please!\nmore", "0f3c-9a1b-77"),
            "agent/fix-the-readme-please-0f3c9a1b"
        );
        assert_eq!(derived("修复", "0f3c9a1b77"), "agent/0f3c9a1b");
    }

    proptest! {
        #[test]
        fn derived_names_are_possible(text in "\\PC{0,200}", id in "[0-9a-f-]{8,36}") {
            prop_assume!(id.chars().any(|letter| letter != '-'));
            prop_assert!(is_possible(&derived(&text, &id)));
        }
    }
}
