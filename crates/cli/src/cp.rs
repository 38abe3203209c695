//! `asb cp`: files into a Sandbox and out of it.

use anyhow::{Result, bail};
use asb_client::{Client, Copied, Location};

use crate::target::Target;
use crate::{output, session, terminal};

/// Copy files and directories into a Sandbox, or out of it.
///
/// NAME:PATH is in a Sandbox, everything else is here; write ./PATH for a file of here whose name has a colon. The sandbox
/// needs `tar`. Into a directory that is there, a copy goes by its own name. Links, devices and privileges do not come
/// out of a sandbox.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb cp ./src box:/data/
  asb cp box:/data/result.json .
  asb cp team/claim/mine:/var/log ./logs")]
pub(crate) struct Arguments {
    /// From where
    from: Location,

    /// To where
    to: Location,

    /// The container [default: the first, or the one that the Pod names]
    #[arg(short, long, value_name = "NAME")]
    container: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    session::block_on(async {
        let client = arguments.target.connect().await?;
        let copied = copy(&client, arguments).await?;
        for skipped in &copied.skipped {
            output::note(&format!("left out: {skipped}"));
        }
        if copied.files == 0 && !copied.skipped.is_empty() {
            bail!("nothing was copied");
        }
        if terminal::has_reader() {
            output::note(&summary(&copied));
        }
        Ok(())
    })
}

async fn copy(client: &Client, arguments: &Arguments) -> Result<Copied> {
    let container = arguments.container.as_deref();
    match (&arguments.from, &arguments.to) {
        (Location::Here(from), Location::Inside { address, path }) => {
            arguments.target.check(address)?;
            let sandbox = client.find_sandbox(address).await?;
            Ok(client.copy_in(&sandbox, from, path, container).await?)
        }
        (Location::Inside { address, path }, Location::Here(to)) => {
            arguments.target.check(address)?;
            let sandbox = client.find_sandbox(address).await?;
            Ok(client.copy_out(&sandbox, path, to, container).await?)
        }
        (Location::Here(_), Location::Here(_)) => {
            bail!("neither is in a sandbox; name one with NAME:PATH, as in `asb cp ./file box:/tmp/`")
        }
        (Location::Inside { .. }, Location::Inside { .. }) => {
            bail!("both are in sandboxes; copy to a file of here first, and from there")
        }
    }
}

fn summary(copied: &Copied) -> String {
    let files = if copied.files == 1 { "1 file".to_owned() } else { format!("{} files", copied.files) };
    format!("{files}, {}", crate::amounts::bytes(copied.bytes))
}
