//! `asb resume`: starts suspended sandboxes again.

use anyhow::Result;
use asb_client::Address;
use kube::ResourceExt;

use crate::output::progress::Progress;
use crate::target::Target;
use crate::{age, session};

/// Resume suspended sandboxes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb resume box
  asb resume --no-wait box claim/mine")]
pub(crate) struct Arguments {
    /// Sandboxes: NAME, NAMESPACE/NAME, sandbox/NAME, claim/NAME
    #[arg(required = true, value_name = "NAME")]
    names: Vec<Address>,

    /// Do not wait until they are ready
    #[arg(long)]
    no_wait: bool,

    /// How long to wait at most [default: as long as it may still succeed]
    #[arg(long, value_name = "TIME", value_parser = age::duration, conflicts_with = "no_wait")]
    timeout: Option<std::time::Duration>,

    #[command(flatten)]
    pub(crate) target: Target,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    session::for_each(&arguments.target, &arguments.names, async |client, address| {
        let sandbox = client.resume(&client.find_sandbox(address).await?).await?;
        if !arguments.no_wait {
            let mut progress = Progress::of(&sandbox.name_any());
            let ready = client.wait_until_ready(&sandbox, |outlook| progress.tell(outlook));
            session::within(arguments.timeout, ready).await?;
        }
        Ok(format!("sandbox/{} resumed", sandbox.name_any()))
    })
}
