//! The two operators, started alike: ours takes upstream's flags, so both get the same.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::attendant::Attendant;

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
pub(super) const FLAGS: [&str; 8] = [
    "--extensions=true",
    "--sandbox-concurrent-workers=200",
    "--sandbox-claim-concurrent-workers=150",
    "--sandbox-warm-pool-concurrent-workers=2",
    "--api-connections=4",
    "--separate-watch-connection=true",
    "--enable-webhook=false",
    "--leader-elect=false",
];

const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Contender {
    program: Attendant,
    metrics: SocketAddr,
}

impl Contender {
    /// `arguments` come before the flags.
    pub(super) fn start(program: &Path, arguments: &[&str], kubeconfig: &Path, log: &Path) -> Result<Self> {
        let (metrics, health) = (free()?, free()?);
        let program = Attendant::start(program, log, |command| {
            command
                .args(arguments)
                .args(FLAGS)
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

/// An address where nobody listens at the moment.
fn free() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("finding a free port")?;
    listener.local_addr().context("finding a free port")
}
