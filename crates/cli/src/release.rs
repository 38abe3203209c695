//! `asb release`: gives a claimed Sandbox back.

use anyhow::Result;
use asb_client::{Address, Deletion};

use crate::session;
use crate::target::Target;

/// Give claimed sandboxes back.
///
/// The claim goes, and its Sandbox with everything in it: a used Sandbox never returns to a pool.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb release mine
  asb release --no-wait mine yours")]
pub(crate) struct Arguments {
    /// Claims: NAME or NAMESPACE/NAME
    #[arg(required = true, value_name = "CLAIM")]
    names: Vec<Address>,

    /// Do not wait until they are gone
    #[arg(long)]
    no_wait: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let how = Deletion { without_waiting: arguments.no_wait, ..Deletion::default() };
    session::for_each(&arguments.target, &arguments.names, async |client, address| {
        let claim = client.claim(client.namespace_of(address), &address.name).await?;
        client.release(&claim, how).await?;
        Ok(format!("claim/{} released", address.name))
    })
}
