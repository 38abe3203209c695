//! `asb rm`: removes sandboxes.

use anyhow::{Result, bail};
use asb_client::{Address, Client, Deletion, Found};
use asb_types::v1beta1::Sandbox;
use kube::ResourceExt;

use crate::target::Target;
use crate::{plugin, session};

/// Remove sandboxes, and what was in them.
///
/// A claim's name removes the claim and its Sandbox. The volumes of a Sandbox go with it, unless its
/// volumeClaimRetentionPolicy keeps them.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb rm box
  asb rm claim/mine team/box
  asb rm --now --no-wait box")]
pub(crate) struct Arguments {
    /// Sandboxes or claims: NAME, NAMESPACE/NAME, sandbox/NAME, claim/NAME
    #[arg(required = true, value_name = "NAME")]
    names: Vec<Address>,

    /// Give what runs in them no time to end by itself
    #[arg(long)]
    now: bool,

    /// Do not wait until they are gone
    #[arg(long)]
    no_wait: bool,

    /// Also a Sandbox that belongs to a claim, which then has none
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    session::for_each(&arguments.target, &arguments.names, async |client, address| {
        let removed = remove(client, &client.find(address).await?, arguments).await?;
        Ok(format!("{removed} removed"))
    })
}

async fn remove(client: &Client, found: &Found, arguments: &Arguments) -> Result<String> {
    let how = Deletion { at_once: arguments.now, without_waiting: arguments.no_wait };
    match (&found.claim, &found.sandbox) {
        (Some(claim), _) => {
            client.release(claim, how).await?;
            Ok(format!("claim/{}", claim.name_any()))
        }
        (None, Some(sandbox)) => {
            if let (Some(claim), false) = (claimed_by(sandbox), arguments.force) {
                let asb = plugin::called();
                bail!(
                    "Sandbox {:?} belongs to claim {claim:?}; remove that with `{asb} rm claim/{claim}`, or only the \
                     Sandbox with --force",
                    sandbox.name_any()
                );
            }
            client.delete_sandbox(sandbox, how).await?;
            Ok(format!("sandbox/{}", sandbox.name_any()))
        }
        (None, None) => bail!("nothing was found to remove"),
    }
}

/// The claim that has it.
fn claimed_by(sandbox: &Sandbox) -> Option<String> {
    let owners = sandbox.owner_references().iter();
    owners.filter(|owner| owner.kind == "SandboxClaim").map(|owner| owner.name.clone()).next()
}
