//! What the user sees: the answer on standard output, in the form asked for, and why there is none on standard error.
//! The only place that prints.

pub(crate) mod objects;
pub(crate) mod progress;
pub(crate) mod table;
pub(crate) mod tone;

use std::io::{ErrorKind, Write, stderr, stdout};

use anyhow::{Context, Result};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use crate::lines;
use crate::logging::Encoder;

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

/// Says why the command failed, from the outermost cause to the innermost, and what to try next.
pub(crate) fn fail(error: &anyhow::Error, hint: Option<&str>) {
    let label = tone::painted("error:", tone::Tone::Bad, tone::on_error());
    // Nothing is left to do about a closed standard error.
    let _ = writeln!(stderr(), "{label} {error:#}");
    if let Some(hint) = hint {
        let _ = writeln!(stderr(), "  {hint}");
    }
}

/// Says something that is not the answer.
pub(crate) fn note(text: &str) {
    let _ = writeln!(stderr(), "{text}");
}

/// Whoever hears of what goes on inside.
pub(crate) type Listener = Box<dyn Layer<Registry> + Send + Sync>;

/// From here on, what goes on inside is said on standard error, one line for each event of this level or worse, and to whoever
/// else listens.
pub(crate) fn log(level: LevelFilter, encoder: Encoder, other: Option<Listener>) {
    let lines = lines::listener(level, encoder, stderr);
    tracing_subscriber::registry().with([lines].into_iter().chain(other).collect::<Vec<_>>()).init();
}
