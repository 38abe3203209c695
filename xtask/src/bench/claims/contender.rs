//! The two operators, started alike: ours takes upstream's flags, so both get the same.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::bench::attendant::{Attendant, free};

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Theirs,
    Ours,
}

impl Side {
    pub(super) const BOTH: [Self; 2] = [Self::Theirs, Self::Ours];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Theirs => "upstream",
            Self::Ours => "ours",
        }
    }
}

/// The tuning that upstream recommends for many claims. Nobody asks for the old version of a kind, so nothing needs to be
/// converted; nobody else is there, so no Lease is needed.
const FLAGS: [&str; 8] = [
    "--extensions=true",
    "--sandbox-concurrent-workers=200",
    "--sandbox-claim-concurrent-workers=150",
    "--sandbox-warm-pool-concurrent-workers=2",
    "--api-connections=4",
    "--separate-watch-connection=true",
    "--enable-webhook=false",
    "--leader-elect=false",
];

/// These flags, where nothing else is said of one of them.
pub(super) fn flags(others: &[String]) -> Vec<String> {
    let name = |flag: &str| flag.split('=').next().unwrap_or_default().to_owned();
    let is_said = |flag: &&str| others.iter().any(|other| name(other) == name(flag));
    FLAGS.iter().filter(|flag| !is_said(flag)).map(|flag| (*flag).to_owned()).chain(others.to_vec()).collect()
}

const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Contender {
    program: Attendant,
    metrics: SocketAddr,
}

impl Contender {
    pub(super) fn start(program: &Path, arguments: &[String], kubeconfig: &Path, log: &Path) -> Result<Self> {
        let (metrics, health) = (free()?, free()?);
        let program = Attendant::start(program, log, |command| {
            command
                .args(arguments)
                .arg(format!("--metrics-bind-address={metrics}"))
                .arg(format!("--health-probe-bind-address={health}"))
                .env("KUBECONFIG", kubeconfig);
        })?;
        Ok(Self { program, metrics })
    }

    pub(super) fn id(&self) -> u32 {
        self.program.id()
    }

    /// What it counts.
    pub(super) fn exposition(&self) -> Result<String> {
        let mut stream =
            TcpStream::connect_timeout(&self.metrics, PATIENCE).context("reaching the operator's metrics")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(stream, "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text).context("reading the operator's metrics")?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_flag_takes_its_place() {
        let others = ["--api-connections=1".to_owned(), "--log=debug".to_owned()];
        let flags = flags(&others);
        assert_eq!(flags.iter().filter(|flag| flag.starts_with("--api-connections")).count(), 1);
        assert_eq!(flags[flags.len() - 2..], others);
        assert!(flags.contains(&"--leader-elect=false".to_owned()));
    }
}
