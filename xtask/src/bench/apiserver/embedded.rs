//! `asb up` as a user starts it, in a directory of its own, and ended with the value.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::workspace;

/// What was built for measuring.
pub(super) struct Programs {
    pub(super) asb: PathBuf,
    pub(super) load: PathBuf,
}

impl Programs {
    pub(super) fn build() -> Result<Self> {
        let asb = build(&["--package", "asb", "--bin", "asb"])?;
        let load = build(&["--package", "asb-tests", "--example", "api_load"])?;
        Ok(Self { asb, load })
    }
}

/// Builds one program as it is released, and asks where it went.
fn build(what: &[&str]) -> Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--message-format", "json"]).args(what).current_dir(workspace::root());
    // What cargo tells xtask of itself would make it build again what was built without that.
    for (name, _) in env::vars_os().filter(|(name, _)| is_about_xtask(&name.to_string_lossy())) {
        cargo.env_remove(name);
    }
    let output = cargo.stderr(Stdio::inherit()).output().context("starting cargo")?;
    ensure!(output.status.success(), "`cargo build {}` failed ({})", what.join(" "), output.status);
    let said = String::from_utf8_lossy(&output.stdout);
    let messages = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut made = messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    made.next_back().with_context(|| format!("`cargo build {}` made no program", what.join(" ")))
}

fn is_about_xtask(name: &str) -> bool {
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

pub(super) struct Embedded {
    child: Child,
    data: PathBuf,
    /// From the start of the process until it said that it is ready.
    pub(super) ready_in: Duration,
}

impl Embedded {
    pub(super) fn start(programs: &Programs, data: &Path) -> Result<Self> {
        let start = Instant::now();
        let mut command = Command::new(&programs.asb);
        command
            .args(["up", "--no-operator", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(data)
            .stdout(Stdio::piped());
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
