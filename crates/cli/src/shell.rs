//! `asb shell`: a shell in a Sandbox that runs.

use std::process::ExitCode;

use anyhow::Result;
use asb_client::{Address, Wanted};

use crate::conversation::converse;
use crate::target::Target;
use crate::{session, terminal};

/// Open a shell in a Sandbox that runs: bash where there is one, else sh.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb shell box
  asb shell team/claim/mine
  echo 'uname -a; id' | asb shell box")]
pub(crate) struct Arguments {
    /// The Sandbox: NAME, NAMESPACE/NAME, sandbox/NAME, claim/NAME
    name: Address,

    /// The container [default: the first, or the one that the Pod names]
    #[arg(short, long, value_name = "NAME")]
    container: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// `exec` so that the shell is what the terminal talks to.
const SHELL: [&str; 3] = ["sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash; exec sh"];

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    arguments.target.check(&arguments.name)?;
    session::block_on(async {
        let client = arguments.target.connect().await?;
        let sandbox = client.find_sandbox(&arguments.name).await?;
        let tty = terminal::has_keyboard();
        let wanted = Wanted { container: arguments.container.clone(), stdin: true, tty };
        let process = client.exec(&sandbox, &SHELL, &wanted).await?;
        converse(process, &wanted).await
    })
}
