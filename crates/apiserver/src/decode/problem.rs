//! Fields that an object should not have: those that its kind does not know, and those that it has twice.
//! Whether they are refused, warned about or passed over is for the client to choose.

use std::fmt;

use crate::field::Quoted;

/// Something that a strict reader refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The path of a field that the kind does not have.
    Unknown(String),
    /// The path of a field that comes more than once. The last counts.
    Duplicate(String),
    /// The keys of a YAML text that come more than once, each with its line.
    Keys(Vec<String>),
}

impl Problem {
    /// What a client is warned of.
    pub fn warnings(&self) -> Vec<String> {
        match self {
            Self::Keys(lines) => lines.clone(),
            field => vec![field.to_string()],
        }
    }
}

/// The text of a refusal.
impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(path) => write!(formatter, "unknown field {}", Quoted(path)),
            Self::Duplicate(path) => write!(formatter, "duplicate field {}", Quoted(path)),
            Self::Keys(lines) => write!(formatter, "yaml: unmarshal errors:\n  {}", lines.join("\n  ")),
        }
    }
}

/// How many are told of at most, as in Kubernetes; and how much text about them, so that a long name cannot be
/// multiplied by the fields under it.
const MOST: usize = 100;
const MOST_TEXT: usize = 1 << 20;

/// Paths of fields, each once.
#[derive(Debug, Default)]
pub(super) struct Paths {
    paths: Vec<String>,
    text: usize,
}

impl Paths {
    pub(super) fn is_full(&self) -> bool {
        self.paths.len() >= MOST || self.text >= MOST_TEXT
    }

    pub(super) fn add(&mut self, path: String) {
        if self.is_full() {
            return;
        }
        self.text += path.len();
        if !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }

    pub(super) fn into_problems(self, problem: fn(String) -> Problem) -> Vec<Problem> {
        self.paths.into_iter().map(problem).collect()
    }
}

/// All problems of an object. A field inside one that is not known is not looked at, and so not reported.
pub(super) fn together(duplicates: Vec<Problem>, unknown: Vec<Problem>) -> Vec<Problem> {
    let is_inside = |path: &str, outer: &Problem| match outer {
        Problem::Unknown(outer) => path
            .strip_prefix(outer.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '['])),
        _ => false,
    };
    let is_seen = |problem: &Problem| match problem {
        Problem::Duplicate(path) => !unknown.iter().any(|outer| is_inside(path, outer)),
        _ => true,
    };
    let mut problems: Vec<Problem> = duplicates.into_iter().filter(is_seen).collect();
    problems.extend(unknown);
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inside_a_field_that_is_not_known_is_not_reported() {
        let duplicates = ["a", "a.b", "a[0]", "ab"].map(|path| Problem::Duplicate(path.into()));
        let problems = together(duplicates.to_vec(), vec![Problem::Unknown("a".into())]);
        assert_eq!(problems, [Problem::Duplicate("ab".into()), Problem::Unknown("a".into())]);
    }

    #[test]
    fn the_number_of_problems_is_limited_and_so_is_their_text() {
        let mut paths = Paths::default();
        (0..1000).for_each(|index| paths.add(format!("a{index}")));
        assert_eq!(paths.into_problems(Problem::Unknown).len(), MOST);
        let mut paths = Paths::default();
        (0..10).for_each(|_| paths.add("a".repeat(MOST_TEXT)));
        assert!(paths.is_full());
    }
}
