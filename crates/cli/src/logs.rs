//! `asb logs`: what a Sandbox's command said.

use std::io::ErrorKind;
use std::time::Duration;

use anyhow::{Context, Result};
use asb_client::{Address, LogOptions};

use crate::target::Target;
use crate::{age, session, terminal};

/// Show what the command of a Sandbox said.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb logs box
  asb logs -f --tail 20 box
  asb logs --since 5m --timestamps claim/mine")]
pub(crate) struct Arguments {
    /// The Sandbox: NAME, NAMESPACE/NAME, sandbox/NAME, claim/NAME
    name: Address,

    /// Go on until the command ends
    #[arg(short, long)]
    follow: bool,

    /// Only so many of the last lines
    #[arg(long, value_name = "LINES")]
    tail: Option<u32>,

    /// Only what was said so recently
    #[arg(long, value_name = "TIME", value_parser = age::duration)]
    since: Option<Duration>,

    /// Of the run before, where the command was started again
    #[arg(short, long, conflicts_with = "follow")]
    previous: bool,

    /// When each line was said, at its beginning
    #[arg(long)]
    timestamps: bool,

    /// The container [default: the first, or the one that the Pod names]
    #[arg(short, long, value_name = "NAME")]
    container: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    arguments.target.check(&arguments.name)?;
    session::block_on(async {
        let client = arguments.target.connect().await?;
        let sandbox = client.find_sandbox(&arguments.name).await?;
        let mut log = client.logs(&sandbox, &arguments.options()).await?;
        match tokio::io::copy(&mut log, &mut terminal::answers()).await {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            copied => copied.map(drop).context("the log broke off"),
        }
    })
}

impl Arguments {
    fn options(&self) -> LogOptions {
        LogOptions {
            container: self.container.clone(),
            follow: self.follow,
            since: self.since,
            tail: self.tail,
            previous: self.previous,
            timestamps: self.timestamps,
        }
    }
}
