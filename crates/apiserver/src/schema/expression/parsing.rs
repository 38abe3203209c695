//! Turns text into an expression, or into an error that shows where in the text it is.

use kube_cel::cel::IdedExpr;
use kube_cel::cel::parser::{ParseError, Parser};

use super::{budget, tree};

/// Kubernetes' limit on how deeply the text of an expression nests.
const MOST_NESTING: usize = 250;
/// Of the expression that is evaluated, where every operator of a chain is a level.
const MOST_DEPTH: usize = 120;

/// The parser recurses as the text nests, more than a thread of the server has stack for; what it returns does not
/// nest more than evaluation can take.
pub(super) fn parse(source: &str) -> Result<IdedExpr, String> {
    const STACK: usize = 64 << 20;
    if nesting(source) > MOST_NESTING {
        return Err(too_deep());
    }
    std::thread::scope(|scope| {
        let parser = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || {
            let parsed = budget::guarded(|| Parser::new().enable_optional_syntax(true).parse(source));
            match parsed {
                Ok(Ok(expression)) if tree::depth(&expression) > MOST_DEPTH => Err(too_deep()),
                Ok(Ok(expression)) => Ok(expression),
                Ok(Err(errors)) => Err(described(&errors.errors, source)),
                Err(()) => Err(located(source, 1, 1, "Syntax error")),
            }
        });
        let parser = parser.map_err(|error| format!("the parser cannot be started: {error}"))?;
        parser.join().unwrap_or_else(|_| Err(located(source, 1, 1, "Syntax error")))
    })
}

/// Brackets and signs in the text, of which each makes the parser recurse. Those in quotes count too: they are few.
fn nesting(source: &str) -> usize {
    let (mut open, mut signs, mut most) = (0_usize, 0_usize, 0_usize);
    for character in source.chars() {
        match character {
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => open = open.saturating_sub(1),
            '!' | '-' | '?' => signs += 1,
            _ => {}
        }
        most = most.max(open);
    }
    most.max(signs)
}

fn too_deep() -> String {
    format!("ERROR: <input>:-1:0: expression recursion limit exceeded: {MOST_NESTING}")
}

fn described(errors: &[ParseError], source: &str) -> String {
    let texts: Vec<String> = errors
        .iter()
        .map(|error| {
            let at = |position: isize| usize::try_from(position).unwrap_or_default().max(1);
            located(source, at(error.pos.0), at(error.pos.1), &error.msg)
        })
        .collect();
    texts.join("\n")
}

pub(super) fn located(source: &str, line: usize, column: usize, message: &str) -> String {
    let text = source.lines().nth(line - 1).unwrap_or_default();
    format!("ERROR: <input>:{line}:{column}: {message}\n | {text}\n | {}^", ".".repeat(column - 1))
}

/// A function is found at its bracket.
pub(super) fn column_of(source: &str, name: &str, is_function: bool) -> usize {
    let at = if is_function {
        source.find(&format!("{name}(")).map(|at| at + name.len())
    } else {
        source.find(name)
    };
    at.map_or(1, |at| at + 1)
}
