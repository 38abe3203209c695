//! Tests wait for a condition with a deadline, never for time to pass.

use super::finding::Finding;
use super::rust::{Rust, Token};

const SLEEPS: &[&str] = &["sleep", "sleep_ms", "sleep_until"];

/// Where polling with a deadline lives, which must pause between looks.
const WAITING: &str = "tests/src/wait.rs";

pub(crate) fn check(rust: &Rust) -> Vec<Finding> {
    if rust.path == WAITING {
        return Vec::new();
    }
    let remedy = format!("wait for the condition with a deadline, as {WAITING} does");
    let fault = |token: &Token| Finding::fault(rust.path, token.line, "a test sleeps", remedy.as_str());
    rust.tokens.windows(3).filter(|row| is_sleep(row)).map(|row| fault(&row[1])).collect()
}

/// A call of a free function: a method or a definition of that name is the code's own business.
fn is_sleep(row: &[Token]) -> bool {
    let [before, name, after] = row else { return false };
    let is_call = after.text == "(" && before.text != "." && before.text != "fn";
    name.test && is_call && SLEEPS.contains(&name.text.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::finding::lines;
    use super::super::rust::with;
    use super::*;

    #[test]
    fn a_sleep_in_a_test_is_found_however_it_is_spelled() {
        let text = "fn f() {\n std::thread::sleep(x);\n tokio::time::sleep(x).await;\n sleep(x);\n}";
        let remedy = "wait for the condition with a deadline, as tests/src/wait.rs does";
        let expected = [2, 3, 4].map(|line| format!("tests/claims.rs:{line}: a test sleeps; {remedy}"));
        assert_eq!(lines(&with("tests/claims.rs", text, check)), expected);
    }

    #[test]
    fn only_the_test_part_of_a_module_is_held_to_it() {
        let text = "fn f() { sleep(x) }\n#[cfg(test)]\nmod tests { fn g() { sleep(x) } }";
        assert_eq!(with("crates/node/src/shim.rs", text, check).len(), 1);
    }

    #[test]
    fn polling_with_a_deadline_may_pause() {
        assert_eq!(with(WAITING, "fn f() { thread::sleep(x) }", check), []);
    }

    #[test]
    fn methods_and_definitions_of_that_name_are_left_alone() {
        assert_eq!(with("tests/a.rs", "fn sleep() { clock.sleep(x); let sleep = 1; }", check), []);
    }
}
