//! Standard output, as the user asked for it. The only place that prints.

use std::io::{ErrorKind, Write, stdout};

use anyhow::{Context, Result};

/// The form of what a command prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    #[default]
    Yaml,
    Json,
    Name,
}

/// Prints the answer. A reader that has seen enough, such as `head`, is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    match stdout().write_all(text.as_bytes()).and_then(|()| stdout().flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}
