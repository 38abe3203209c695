//! Attributes that hide something: an ignored test never fails, an allowed lint never expires.

use super::finding::Finding;
use super::rust::{Rust, Token};

pub(crate) fn check(rust: &Rust) -> Vec<Finding> {
    let ignored = "move it to the suite that can run it, or delete it";
    let allowed = "mend the cause, or use `#[expect(…, reason = \"…\")]`";
    let rules: [(&[&str], &str, &str); 3] = [
        (&["#", "[", "ignore"], "a test is ignored", ignored),
        (&["#", "[", "allow"], "a lint is allowed", allowed),
        (&["#", "!", "[", "allow"], "a lint is allowed", allowed),
    ];
    rules.iter().flat_map(|(row, wrong, remedy)| faults(rust, row, wrong, remedy)).collect()
}

fn faults(rust: &Rust, row: &[&str], wrong: &str, remedy: &str) -> Vec<Finding> {
    let fault = |token: &Token| Finding::fault(rust.path, token.line, wrong, remedy);
    rust.rows(row).map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::lines;
    use super::super::rust::with;
    use super::*;

    #[test]
    fn an_ignored_test_is_found_with_or_without_a_reason() {
        let text = "#[test]\n#[ignore]\nfn a() {}\n#[test]\n#[ignore = \"slow\"]\nfn b() {}";
        let remedy = "move it to the suite that can run it, or delete it";
        let expected = [2, 5].map(|line| format!("a.rs:{line}: a test is ignored; {remedy}"));
        assert_eq!(lines(&with("a.rs", text, check)), expected);
    }

    #[test]
    fn an_allowed_lint_is_found_on_items_and_on_modules() {
        assert_eq!(with("a.rs", "#![allow(dead_code)]\n#[allow(unused)] fn f() {}", check).len(), 2);
    }

    #[test]
    fn an_expected_lint_passes() {
        assert_eq!(with("a.rs", "#[expect(dead_code, reason = \"soon\")] fn allow() {}", check), []);
    }
}
