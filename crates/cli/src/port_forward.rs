//! `asb port-forward`: ports of a Sandbox, here.

use std::net::IpAddr;
use std::str::FromStr;

use anyhow::{Context, Result};
use asb_client::Address;
use futures::future::try_join_all;
use tokio::net::TcpListener;

use crate::target::Target;
use crate::{output, session};

/// Reach ports of a Sandbox from here, until Ctrl-C.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb port-forward box 8080
  asb port-forward box 8080:80 :5432
  asb port-forward --address 0.0.0.0 claim/mine 8888

PORT is the same here and there, HERE:THERE two different ones, and :THERE takes a free one here.")]
pub(crate) struct Arguments {
    /// The Sandbox: NAME, NAMESPACE/NAME, sandbox/NAME, claim/NAME
    name: Address,

    /// The ports
    #[arg(required = true, value_name = "[HERE:]THERE")]
    ports: Vec<Pair>,

    /// Where to listen; anybody who reaches it reaches the sandbox
    #[arg(long, default_value = "127.0.0.1")]
    address: IpAddr,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// A port here, 0 for a free one, and one there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair {
    here: u16,
    there: u16,
}

impl FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let problem = || "it must be PORT, HERE:THERE or :THERE".to_owned();
        let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(problem);
        match text.split_once(':') {
            None => port(text).map(|port| Self { here: port, there: port }),
            Some(("" | "0", there)) => Ok(Self { here: 0, there: port(there)? }),
            Some((here, there)) => Ok(Self { here: port(here)?, there: port(there)? }),
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    arguments.target.check(&arguments.name)?;
    session::block_on(async {
        let client = arguments.target.connect().await?;
        let sandbox = client.find_sandbox(&arguments.name).await?;
        let mut listeners = Vec::new();
        for pair in &arguments.ports {
            listeners.push((listen(arguments.address, *pair).await?, pair.there));
        }
        let forwards = listeners.into_iter().map(|(listener, there)| {
            client.forward(&sandbox, listener, there, |error| {
                output::note(&format!("{:#}", anyhow::Error::from(error)));
            })
        });
        tokio::select! {
            ended = try_join_all(forwards) => Ok(ended.map(drop)?),
            interrupted = tokio::signal::ctrl_c() => interrupted.context("cannot listen for signals"),
        }
    })
}

async fn listen(address: IpAddr, pair: Pair) -> Result<TcpListener> {
    let listener = TcpListener::bind((address, pair.here)).await;
    let listener = listener.with_context(|| {
        format!("cannot listen on {address}:{}; :{} takes a free port", pair.here, pair.there)
    })?;
    let here = listener.local_addr().context("cannot tell the port")?;
    // In kubectl's words: scripts wait for them.
    output::print(&format!("Forwarding from {here} -> {}\n", pair.there))?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_as_kubectl_reads_them() {
        let read = |text: &str| text.parse::<Pair>().map(|pair| (pair.here, pair.there));
        assert_eq!([read("80"), read("8080:80"), read(":80")], [Ok((80, 80)), Ok((8080, 80)), Ok((0, 80))]);
        for wrong in ["", "http", "80:", "0", "70000", "1:2:3"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
