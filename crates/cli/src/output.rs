//! What the user sees: the answer on standard output, in the form asked for, and why there is none on standard error.
//! The only place that prints.

use std::io::{ErrorKind, Write, stderr, stdout};
use std::process::ExitCode;

use anyhow::{Context, Result};

/// The form of what a command prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    #[default]
    Yaml,
    Json,
    Name,
}

/// The form of an answer about how things are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    #[default]
    Text,
    Json,
}

/// Prints the answer. A reader that has seen enough, such as `head`, is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    match stdout().write_all(text.as_bytes()).and_then(|()| stdout().flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Says why the command failed, from the outermost cause to the innermost.
pub(crate) fn fail(error: &anyhow::Error) -> ExitCode {
    // Nothing is left to do about a closed standard error.
    let _ = writeln!(stderr(), "error: {error:#}");
    ExitCode::FAILURE
}

/// From here on, what goes on inside is said on standard error, one line for each event of this level or worse.
pub(crate) fn log(level: tracing::level_filters::LevelFilter) {
    tracing_subscriber::fmt().with_max_level(level).with_writer(stderr).with_target(false).init();
}

/// The same for programs: each line an object.
pub(crate) fn log_json(level: tracing::level_filters::LevelFilter) {
    tracing_subscriber::fmt().json().flatten_event(true).with_max_level(level).with_writer(stderr).init();
}
