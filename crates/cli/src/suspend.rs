//! `asb suspend`: stops sandboxes and keeps what is theirs.

use anyhow::Result;
use asb_client::Address;
use kube::ResourceExt;

use crate::session;
use crate::target::Target;

/// Suspend sandboxes: nothing runs, and name and volumes stay.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb suspend box
  asb suspend --no-wait box claim/mine

`asb resume` starts them again.")]
pub(crate) struct Arguments {
    /// Sandboxes: NAME, NAMESPACE/NAME, sandbox/NAME, claim/NAME
    #[arg(required = true, value_name = "NAME")]
    names: Vec<Address>,

    /// Do not wait until nothing runs any more
    #[arg(long)]
    no_wait: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    session::for_each(&arguments.target, &arguments.names, async |client, address| {
        let sandbox = client.suspend(&client.find_sandbox(address).await?).await?;
        if !arguments.no_wait {
            client.wait_until_suspended(&sandbox).await?;
        }
        Ok(format!("sandbox/{} suspended", sandbox.name_any()))
    })
}
