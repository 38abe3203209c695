//! Printing belongs to the terminal modules; leftovers of unfinished work belong nowhere.

use super::finding::Finding;
use super::rust::{Rust, Token};

const PRINTING: &[&str] = &["print", "println", "eprint", "eprintln"];
const UNFINISHED: &[&str] = &["dbg", "todo", "unimplemented"];

/// The modules whose subject is the terminal.
const TERMINALS: &[&str] = &["xtask/src/terminal.rs", "crates/cli/src/output.rs"];
const TERMINAL_FOLDER: &str = "crates/cli/src/output/";

pub(crate) fn check(rust: &Rust) -> Vec<Finding> {
    let printing = PRINTING.iter().filter(|_| !may_print(rust.path));
    let printing = printing.flat_map(|name| calls(rust, name, "print through the terminal module"));
    let unfinished = UNFINISHED.iter().flat_map(|name| calls(rust, name, "finish the work and delete it"));
    printing.chain(unfinished).collect()
}

/// Build scripts talk to cargo by printing.
fn may_print(path: &str) -> bool {
    TERMINALS.contains(&path) || path.starts_with(TERMINAL_FOLDER) || path.ends_with("build.rs")
}

fn calls(rust: &Rust, name: &str, remedy: &str) -> Vec<Finding> {
    let fault = |token: &Token| Finding::fault(rust.path, token.line, format!("`{name}!` is called"), remedy);
    // The bracket tells a call from a comparison with `!=`.
    let rows = ["(", "[", "{"].map(|open| [name, "!", open]);
    rows.iter().flat_map(|row| rust.rows(row)).map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::lines;
    use super::super::rust::with;
    use super::*;

    #[test]
    fn printing_outside_the_terminal_is_found() {
        let findings = with("crates/core/src/plan.rs", "fn f() {\n println!(\"x\") }", check);
        let expected = "crates/core/src/plan.rs:2: `println!` is called; print through the terminal module";
        assert_eq!(lines(&findings), [expected]);
    }

    #[test]
    fn the_terminal_may_print_but_not_leave_work_unfinished() {
        let text = "fn f() { println!(); todo!() }";
        for path in ["xtask/src/terminal.rs", "crates/cli/src/output.rs", "crates/cli/src/output/table.rs"] {
            let expected = format!("{path}:1: `todo!` is called; finish the work and delete it");
            assert_eq!(lines(&with(path, text, check)), [expected]);
        }
    }

    #[test]
    fn a_macro_inside_another_macro_is_found() {
        assert_eq!(with("a.rs", "fn f() { assert!(dbg!(x)) }", check).len(), 1);
    }

    #[test]
    fn names_that_only_resemble_macros_are_left_alone() {
        assert_eq!(with("a.rs", "fn print() { todo(); self.dbg != x }", check), []);
    }
}
