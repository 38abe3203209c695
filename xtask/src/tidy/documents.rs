//! The documents a newcomer looks for are there, and the architecture still fits in one sitting.
//! Whether their links lead anywhere is the business of `links`.

use super::finding::Finding;
use super::tree::Tree;

const REQUIRED: &[&str] = &[
    "AGENTS.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "COMPATIBILITY.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "NOTICE",
    "README.md",
    "deny.toml",
    DECISIONS,
];
const ARCHITECTURE: &str = "ARCHITECTURE.md";
const ARCHITECTURE_LINES: usize = 300;

/// One page per decision, numbered in the order in which they were made.
const DECISIONS: &str = "docs/adr";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = missing(tree);
    findings.extend(long_architecture(tree));
    findings.extend(check_decisions(tree));
    findings
}

fn missing(tree: &Tree) -> Vec<Finding> {
    let missing = REQUIRED.iter().filter(|path| !tree.holds(path));
    missing.map(|path| Finding::fault(path, 1, "the document is missing", "write it")).collect()
}

fn long_architecture(tree: &Tree) -> Option<Finding> {
    let lines = tree.texts.iter().find(|text| text.path == ARCHITECTURE)?.text.lines().count();
    let remedy = format!("keep it under {ARCHITECTURE_LINES} and move detail to {DECISIONS}");
    (lines >= ARCHITECTURE_LINES)
        .then(|| Finding::fault(ARCHITECTURE, 1, format!("it has {lines} lines"), remedy))
}

fn check_decisions(tree: &Tree) -> Vec<Finding> {
    let names = tree.paths.iter().filter_map(|path| path.strip_prefix(DECISIONS)?.strip_prefix('/'));
    let mut next = 1;
    let mut findings = Vec::new();
    for name in names.filter(|name| *name != "README.md") {
        findings.extend(check_decision(name, &mut next));
    }
    findings
}

/// Names arrive sorted, so that a gap or a number used twice shows as a number that is not the next.
fn check_decision(name: &str, next: &mut u32) -> Option<Finding> {
    let path = format!("{DECISIONS}/{name}");
    let Some(number) = number(name) else {
        return Some(Finding::fault(
            &path,
            1,
            "the decision is misnamed",
            "call it NNNN-title-in-lower-case.md",
        ));
    };
    let expected = std::mem::replace(next, number + 1);
    let wrong = format!("the decision is number {number:04}, after {:04}", expected - 1);
    (number != expected).then(|| Finding::fault(&path, 1, wrong, format!("number it {expected:04}")))
}

fn number(name: &str) -> Option<u32> {
    let (digits, title) = name.strip_suffix(".md")?.split_once('-')?;
    let is_title =
        |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-';
    let well_named = digits.len() == 4 && !title.is_empty() && title.chars().all(is_title);
    well_named.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::super::finding::lines;
    use super::*;

    fn decisions(names: &[&str]) -> Vec<String> {
        let paths: Vec<_> = names.iter().map(|name| format!("{DECISIONS}/{name}")).collect();
        let files: Vec<_> = paths.iter().map(|path| (path.as_str(), "")).collect();
        lines(&check_decisions(&Tree::of(&files)))
    }

    #[test]
    fn a_missing_document_is_found() {
        let present: Vec<_> = REQUIRED.iter().map(|path| (*path, "")).collect();
        let (decisions, files) = present.split_last().unwrap();
        assert_eq!(lines(&missing(&Tree::of(files))), ["docs/adr:1: the document is missing; write it"]);
        assert_eq!(decisions.0, DECISIONS);
    }

    #[test]
    fn an_architecture_of_300_lines_is_too_long() {
        let found = |lines| long_architecture(&Tree::of(&[(ARCHITECTURE, "x\n".repeat(lines).as_str())]));
        assert!(found(299).is_none());
        assert!(found(300).is_some());
    }

    #[test]
    fn decisions_count_up_from_one() {
        assert_eq!(decisions(&["0001-one.md", "0002-two-words.md", "README.md"]), [""; 0]);
    }

    #[test]
    fn a_gap_and_a_number_used_twice_are_found() {
        let gap = "docs/adr/0003-c.md:1: the decision is number 0003, after 0001; number it 0002";
        let twice = "docs/adr/0003-d.md:1: the decision is number 0003, after 0003; number it 0004";
        assert_eq!(decisions(&["0001-a.md", "0003-c.md", "0003-d.md"]), [gap, twice]);
    }

    #[test]
    fn a_misnamed_decision_is_found() {
        let expected = |name| {
            format!("docs/adr/{name}:1: the decision is misnamed; call it NNNN-title-in-lower-case.md")
        };
        for name in ["1-one.md", "0001-One.md", "0001.md", "notes.txt"] {
            assert_eq!(decisions(&[name]), [expected(name)]);
        }
    }
}
