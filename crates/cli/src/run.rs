//! `asb run`: makes a Sandbox, runs a command in it, and ends as that does.

mod attempt;
mod interrupts;
mod of_template;
mod wish;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use crate::environment::Variable;
use crate::target::Target;
use crate::{age, amounts, local, session};
use wish::MountPoint;

/// Make a Sandbox, run a command in it, show what it says, and end with its exit code.
///
/// On this machine, where no Agent Sandbox runs yet, one is started in the background; `asb down` stops it.
///
/// Without a command the image's own runs. The Sandbox stays when the command has ended, unless --rm is given: `asb logs`,
/// `asb describe` and `asb rm` know it by its name. What the command says on standard error comes on standard output,
/// because Kubernetes keeps them in one log; with -t they are one anyway.
///
/// Ctrl-C reaches the command as it does in a terminal; a second one stops the Sandbox, a third leaves it to itself.
///
/// Exit codes besides the command's own: 124 when --timeout was up, 125 when asb failed, 126 when the command cannot be
/// run, 127 when there is none of that name.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb run -- python3 -c 'print(6*7)'
  asb run --rm -it -- bash
  asb run --rm --memory 512m --cpu 0.5 --timeout 30s -- ./untrusted
  asb run --rm --mount .:/work:ro -- ls /work
  asb run -d --name box --image busybox:1.37 -- sleep infinity
  asb run --rm --template python -- python3 --version")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Arguments {
    /// The image [default on this machine: asb.local/host, made of its own programs; elsewhere there is none]
    #[arg(long, conflicts_with = "template")]
    image: Option<String>,

    /// The name of the Sandbox [default: one is made up]
    #[arg(long)]
    name: Option<String>,

    /// Remove the Sandbox when the command has ended
    #[arg(long)]
    rm: bool,

    /// Leave it running, and print its name once it is ready
    #[arg(short, long, conflicts_with_all = ["rm", "interactive", "tty"])]
    detach: bool,

    /// Pass standard input on
    #[arg(short, long)]
    interactive: bool,

    /// Give the command a terminal
    #[arg(short, long)]
    tty: bool,

    /// The most processors it may use, such as 2, 0.5 or 500m
    #[arg(long, value_name = "COUNT", value_parser = amounts::cpu, conflicts_with = "template")]
    cpu: Option<String>,

    /// The most memory it may use, such as 512m or 2g
    #[arg(long, value_name = "SIZE", value_parser = amounts::memory, conflicts_with = "template")]
    memory: Option<String>,

    /// A variable for the command: NAME=VALUE, or NAME for the one of this environment
    #[arg(short, long, value_name = "NAME[=VALUE]")]
    env: Vec<Variable>,

    /// A directory or file of this machine, inside; only for sandboxes on this machine
    #[arg(long, value_name = "HOST:PATH[:ro]", conflicts_with = "template")]
    mount: Vec<MountPoint>,

    /// What isolates it: a RuntimeClass, such as gvisor
    #[arg(long, value_name = "CLASS", conflicts_with = "template")]
    runtime: Option<String>,

    /// How long it may run, such as 30s or 1h30m
    #[arg(long, value_name = "TIME", value_parser = age::duration)]
    timeout: Option<Duration>,

    /// Make it from this template, and run the command in it besides the template's own
    #[arg(long, value_name = "NAME", requires = "command")]
    template: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,

    /// The command and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND", help_heading = None)]
    command: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    session::block_on(async {
        let client = local::connect(&arguments.target).await?;
        local::ensure_node(&client, &arguments.target).await?;
        if let Some(template) = &arguments.template {
            return of_template::run(&client, template, arguments).await;
        }
        let wish = wish::wish(arguments, client.ask_home().await?)?;
        Box::pin(attempt::run(&client, &wish, arguments)).await
    })
}
