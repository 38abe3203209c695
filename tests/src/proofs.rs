//! Holds the tests that the table of supported Pod fields names to the tests that there are.

use std::path::{Path, PathBuf};

use asb_core::pod::support;

/// `pods::volumes::a_test` is in the suite `pods`.
fn place(test: &str) -> (PathBuf, &str) {
    let (module, name) = test.rsplit_once("::").expect("a file and a test");
    let suites = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites");
    (suites.join(module.replace("::", "/")).with_extension("rs"), name)
}

fn is_there(test: &str) -> bool {
    let (file, name) = place(test);
    let source = std::fs::read_to_string(file).unwrap_or_default();
    let mut lines = source.lines().map(str::trim);
    let declared = format!("fn {name}() ");
    let is_test = |line: &str| matches!(line, "#[test]" | "#[tokio::test]");
    while let Some(line) = lines.next() {
        if is_test(line) && lines.next().is_some_and(|next| next.contains(&declared)) {
            return true;
        }
    }
    false
}

#[test]
fn every_proof_is_a_test() {
    let missing: Vec<_> = support::proofs().filter(|test| !is_there(test)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "the table of Pod fields names tests that do not exist");
}

#[test]
fn a_test_that_is_not_there_is_missed() {
    assert!(!is_there("pods::volumes::pigs_fly"));
    assert!(!is_there("pods::nowhere::pigs_fly"));
}
