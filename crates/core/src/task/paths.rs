//! Paths that a change may not touch: patterns as in .gitignore, from the root of the repository.

/// One pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Any number of directories.
    Any,
    /// One name, with `*` and `?` in it.
    Name(Vec<char>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a protected path has parts without a name, or parts such as . and ..; `!` and `[` are not understood"
)]
pub struct Wrong;

impl Pattern {
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        let anchored = text.trim_end_matches('/').trim_start_matches('/');
        let wrong = |part: &str| part.is_empty() || part == "." || part == "..";
        if text.starts_with('!') || text.contains('[') || anchored.split('/').any(wrong) {
            return Err(Wrong);
        }
        let part = |part: &str| if part == "**" { Part::Any } else { Part::Name(part.chars().collect()) };
        let mut parts: Vec<_> = anchored.split('/').map(part).collect();
        // A name alone is meant wherever it is.
        if parts.len() == 1 && !text.starts_with('/') {
            parts.insert(0, Part::Any);
        }
        Ok(Self { parts })
    }

    /// Whether it is this path, or a directory above it.
    pub fn covers(&self, path: &str) -> bool {
        let names: Vec<Vec<char>> = path.split('/').map(|name| name.chars().collect()).collect();
        below(&self.parts, &names)
    }
}

/// Each part of the pattern against each name, without going back further than the last `**`: linear times linear.
fn below(parts: &[Part], names: &[Vec<char>]) -> bool {
    let mut reached = vec![false; names.len() + 1];
    reached[0] = true;
    for part in parts {
        let mut further = vec![false; names.len() + 1];
        for at in 0..=names.len() {
            further[at] = match part {
                Part::Any => reached[at] || (at > 0 && further[at - 1]),
                Part::Name(name) => at > 0 && reached[at - 1] && is_like(name, &names[at - 1]),
            };
        }
        reached = further;
    }
    reached.contains(&true)
}

fn is_like(pattern: &[char], name: &[char]) -> bool {
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for letter in pattern {
        let mut further = vec![false; name.len() + 1];
        for at in 0..=name.len() {
            further[at] = match letter {
                '*' => reached[at] || (at > 0 && further[at - 1]),
                '?' => at > 0 && reached[at - 1],
                letter => at > 0 && reached[at - 1] && name[at - 1] == *letter,
            };
        }
        reached = further;
    }
    reached[name.len()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn covers(pattern: &str, path: &str) -> bool {
        Pattern::parse(pattern).expect("a pattern").covers(path)
    }

    #[test]
    fn patterns_are_read_as_gitignore_has_them() {
        let yes = [
            (".github/", ".github/workflows/ci.yml"),
            ("/src/*.rs", "src/lib.rs"),
            ("*.pem", "deep/down/key.pem"),
            ("docs/**/secret", "docs/secret"),
            ("docs/**/secret", "docs/a/b/secret/x"),
            ("**/k?y", "a/key"),
            ("/a", "a/b"),
        ];
        for (pattern, path) in yes {
            assert!(covers(pattern, path), "{pattern} {path}");
        }
        let no = [
            ("/src/*.rs", "src/a/lib.rs"),
            ("/a", "b/a"),
            ("docs/*", "x/docs/y"),
            ("a?", "a"),
            ("x/y", "a/x/y"),
        ];
        for (pattern, path) in no {
            assert!(!covers(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for pattern in ["", "/", "!a", "a//b", "../a", "a/./b", "[ab]"] {
            assert_eq!(Pattern::parse(pattern), Err(Wrong), "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn a_path_covers_itself_and_what_is_below(path in "[a-z]{1,4}(/[a-z]{1,4}){0,3}", more in "[a-z]{1,4}") {
            let pattern = format!("/{path}");
            prop_assert!(covers(&pattern, &path));
            let below = format!("{path}/{more}");
            prop_assert!(covers(&pattern, &below));
        }

        #[test]
        fn stars_do_not_take_for_ever(stars in "(\\*a){1,30}", path in "a{1,60}") {
            covers(&stars, &path);
        }
    }
}
