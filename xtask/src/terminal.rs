//! What a person sees: one line per step, with its time. The only place that prints.
#![expect(clippy::print_stderr, reason = "this module is the terminal")]

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

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

/// The answer to the command, on standard output. A reader that has seen enough, such as `head`, is no error.
pub(crate) fn answer(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

/// Why the command failed, in one line from the outermost cause to the innermost.
pub(crate) fn failure(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}

pub(crate) fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// Runs a long command: now and then shows where it is, and if it fails, the end of what it said.
pub(crate) fn watched(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("run `{name}`"))?;
    let said = follow(child.stderr.take().context("standard error is piped")?);
    let status = child.wait()?;
    if !status.success() {
        for line in &said {
            note(line);
        }
        bail!("`{name}` failed ({status})");
    }
    Ok(())
}

fn follow(output: impl Read) -> VecDeque<String> {
    const KEPT: usize = 25;
    const BETWEEN_NOTES: Duration = Duration::from_secs(20);
    let (mut said, mut lines, mut noted) = (VecDeque::new(), 0, Instant::now());
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        lines += 1;
        if noted.elapsed() > BETWEEN_NOTES {
            note(&format!("step {lines}: {line}"));
            noted = Instant::now();
        }
        said.push_back(line);
        if said.len() > KEPT {
            said.pop_front();
        }
    }
    said
}
