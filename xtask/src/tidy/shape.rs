//! The shape of a source file: it opens by saying what it owns, and it fits one subject.

use super::finding::Finding;
use super::tree::{Text, extension_of};

const SOURCES: &[&str] = &["rs", "py", "ts", "tsx"];
const QUESTIONABLE: usize = 500;
const LONGEST: usize = 900;

pub(crate) fn check(file: &Text) -> Vec<Finding> {
    let extension = extension_of(&file.path).unwrap_or_default();
    let opening = (extension == "rs").then(|| opening(file)).flatten();
    let length = SOURCES.contains(&extension).then(|| length(file)).flatten();
    opening.into_iter().chain(length).collect()
}

fn opening(file: &Text) -> Option<Finding> {
    let remedy = "open with 1–8 `//!` lines: what it owns, and what it leaves to others";
    (!file.text.starts_with("//!"))
        .then(|| Finding::fault(&file.path, 1, "the module does not introduce itself", remedy))
}

fn length(file: &Text) -> Option<Finding> {
    let lines = file.text.lines().count();
    let wrong = format!("the file has {lines} lines");
    match lines {
        ..=QUESTIONABLE => None,
        _ if lines <= LONGEST => Some(Finding::question(&file.path, 1, wrong, "is that one subject?")),
        _ => Some(Finding::fault(&file.path, 1, wrong, format!("split it by subject, below {LONGEST}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::lines;
    use super::*;

    fn file(path: &str, text: &str) -> Text {
        Text { path: path.to_owned(), text: text.to_owned() }
    }

    fn of_length(count: usize) -> Text {
        file("a.rs", &"//! A.\n".repeat(count))
    }

    #[test]
    fn a_module_that_does_not_introduce_itself_is_found() {
        let expected = "a.rs:1: the module does not introduce itself; \
                        open with 1–8 `//!` lines: what it owns, and what it leaves to others";
        assert_eq!(lines(&check(&file("a.rs", "use std::fs;\n//! Late."))), [expected]);
        assert_eq!(check(&file("a.py", "import os")), []);
    }

    #[test]
    fn a_long_file_is_a_question_and_a_very_long_one_a_fault() {
        assert_eq!(check(&of_length(500)), []);
        assert_eq!(lines(&check(&of_length(501))), ["a.rs:1: the file has 501 lines; is that one subject?"]);
        assert!(!check(&of_length(900))[0].is_fault());
        assert!(check(&of_length(901))[0].is_fault());
    }

    #[test]
    fn data_may_be_long() {
        assert_eq!(check(&file("Cargo.lock", &"x\n".repeat(2000))), []);
    }
}
