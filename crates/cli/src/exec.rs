//! `asb exec`: runs a command in a Sandbox that runs.

use std::process::ExitCode;

use anyhow::Result;
use asb_client::{Address, Wanted};

use crate::conversation::{converse, possible};
use crate::session;
use crate::target::Target;

/// Run a command in a Sandbox that runs, and end with its exit code.
///
/// 125 means that asb failed, 126 that the command cannot be run, 127 that there is none of that name.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb exec box -- ls -l /
  asb exec -it box -- python3
  echo 'print(6*7)' | asb exec -i box -- python3 -
  asb exec claim/mine -c sidecar -- env")]
pub(crate) struct Arguments {
    /// The Sandbox: NAME, NAMESPACE/NAME, sandbox/NAME, claim/NAME
    name: Address,

    /// Pass standard input on
    #[arg(short, long)]
    interactive: bool,

    /// Give the command a terminal
    #[arg(short, long)]
    tty: bool,

    /// The container [default: the first, or the one that the Pod names]
    #[arg(short, long, value_name = "NAME")]
    container: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND", help_heading = None)]
    command: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    arguments.target.check(&arguments.name)?;
    session::block_on(async {
        let client = arguments.target.connect().await?;
        let sandbox = client.find_sandbox(&arguments.name).await?;
        let wanted = possible(Wanted {
            container: arguments.container.clone(),
            stdin: arguments.interactive,
            tty: arguments.tty,
        });
        let process = client.exec(&sandbox, &arguments.command, &wanted).await?;
        converse(process, &wanted).await
    })
}
