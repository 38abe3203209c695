//! `asb up` as a user starts it, in a directory of its own, and ended with the value.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

pub(super) struct Embedded {
    child: Child,
    data: PathBuf,
    /// From the start of the process until it said that it is ready.
    pub(super) ready_in: Duration,
}

/// What the process is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// An API server, whose kinds somebody else looks after, or nobody.
    Api,
    /// The operator, too.
    Operator,
    /// All that it can be: Pods run.
    Node,
}

impl Extent {
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Api => &["--no-node", "--no-operator"],
            Self::Operator => &["--no-node"],
            Self::Node => &[],
        }
    }
}

impl Embedded {
    pub(super) fn start(asb: &Path, data: &Path, extent: Extent) -> Result<Self> {
        let start = Instant::now();
        let mut command = Command::new(asb);
        command.args(["up", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data);
        command.args(extent.options()).stdout(Stdio::piped());
        let mut child = command.spawn().context("starting asb")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("its output is piped")?).read_line(&mut line)?;
        let server = Self { child, data: data.to_owned(), ready_in: start.elapsed() };
        ensure!(line.contains("https://"), "asb did not start");
        Ok(server)
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.data.join("kubeconfig")
    }
}

impl Drop for Embedded {
    /// As hard as can be: a start after that has nothing tidied up for it.
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}
