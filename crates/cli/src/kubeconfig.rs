//! `asb kubeconfig`: how to reach the local Agent Sandbox.

use std::fs;

use anyhow::{Context, Result};

use crate::output;
use crate::place::Place;

/// Print the kubeconfig of the local Agent Sandbox.
///
/// It names an administrator who may do everything: treat it like a password.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  export KUBECONFIG=\"$(asb kubeconfig --path)\"
  asb kubeconfig > admin.kubeconfig")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Place,

    /// Only where the file is
    #[arg(long)]
    path: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let path = arguments.place.kubeconfig()?;
    let text = fs::read_to_string(&path)
        .with_context(|| format!("there is no kubeconfig at {}; `asb up` writes it", path.display()))?;
    if arguments.path { output::print(&format!("{}\n", path.display())) } else { output::print(&text) }
}
