//! What a person sees: one line per step, with its time. The only place that prints.
#![expect(clippy::print_stderr, clippy::print_stdout, reason = "this module is the terminal")]

use std::time::{Duration, Instant};

/// Runs one step of a longer job and says how long it took, or that it failed.
pub(crate) fn step<T>(name: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    eprintln!("==> {name}");
    let start = Instant::now();
    let result = work();
    let verdict = if result.is_ok() { "done" } else { "FAILED" };
    eprintln!("    {verdict}: {name} ({})", seconds(start.elapsed()));
    result
}

/// Progress and remarks, on standard error so that standard output stays usable in pipes.
pub(crate) fn note(line: &str) {
    eprintln!("    {line}");
}

/// The answer to the command, on standard output.
pub(crate) fn answer(text: &str) {
    println!("{text}");
}

/// Why the command failed, in one line from the outermost cause to the innermost.
pub(crate) fn failure(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}

pub(crate) fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
