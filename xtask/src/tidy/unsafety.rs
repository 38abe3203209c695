//! `unsafe` has its homes: the `sys` modules of the node, of what attacks it in tests, and of the program inside a sandbox.

use super::finding::Finding;
use super::rust::{Rust, Token};

const HOMES: &[&str] = &["crates/node/src/sys", "crates/node/tests/shim/sys", "crates/sandboxd/src/sys"];

pub(crate) fn check(rust: &Rust) -> Vec<Finding> {
    if is_home(rust.path) {
        return Vec::new();
    }
    let remedy = "use a safe wrapper, or move it to a `sys` module of node or sandboxd";
    let fault = |token: &Token| Finding::fault(rust.path, token.line, "`unsafe` is away from home", remedy);
    rust.rows(&["unsafe"]).map(fault).collect()
}

fn is_home(path: &str) -> bool {
    let rest = HOMES.iter().find_map(|home| path.strip_prefix(home));
    rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::super::finding::lines;
    use super::super::rust::with;
    use super::*;

    #[test]
    fn unsafe_away_from_home_is_found() {
        let findings = with("crates/router/src/lib.rs", "fn f() {\n unsafe { g() } }", check);
        let remedy = "use a safe wrapper, or move it to a `sys` module of node or sandboxd";
        let expected = format!("crates/router/src/lib.rs:2: `unsafe` is away from home; {remedy}");
        assert_eq!(lines(&findings), [expected]);
    }

    #[test]
    fn the_sys_modules_may_be_unsafe_and_their_namesakes_may_not() {
        let found = |path| with(path, "unsafe fn f() {}", check).len();
        assert_eq!(found("crates/node/src/sys.rs") + found("crates/sandboxd/src/sys/pty.rs"), 0);
        assert_eq!(found("crates/node/src/system.rs"), 1);
    }

    #[test]
    fn the_name_of_the_lint_is_not_unsafe_code() {
        assert_eq!(with("a.rs", "#![deny(unsafe_code)]", check), []);
    }
}
