//! A server of our own to run suites against: `asb up` in a directory that goes with it, most often without the operator and
//! the router: the suites compare what the server does with objects that nobody else touches, and bring operators of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// Who runs the Pods of a server.
#[derive(Clone, Copy)]
pub(crate) enum Pods<'a> {
    /// Nobody, unless the tests do.
    Left,
    /// Its own node, in containers, or in a gVisor where they ask for one.
    Run { gvisor: &'a Path },
    /// Its own node, which was told more.
    Told(&'a [&'a str]),
    /// Its own node, with the operator and the router, as people have it.
    Whole,
}

impl Pods<'_> {
    /// How many files the program may have open. Where that is tested, few, as services are started: Pods get more.
    fn files(self) -> &'static str {
        if matches!(self, Self::Told(_)) { "ulimit -S -n 1024" } else { ":" }
    }

    fn arguments(self) -> Vec<String> {
        let mut arguments = match self {
            Self::Left => vec!["--no-node".to_owned()],
            Self::Run { gvisor } => vec![format!("--runtime=gvisor={}", gvisor.display())],
            Self::Told(words) => words.iter().map(|word| (*word).to_owned()).collect(),
            Self::Whole => return vec!["--router-listen=127.0.0.1:0".to_owned()],
        };
        arguments.extend(["--no-operator".to_owned(), "--no-router".to_owned()]);
        arguments
    }
}

pub(crate) struct Embedded {
    process: Child,
    directory: PathBuf,
}

impl Embedded {
    /// Starts the program, which must have been built, and waits until it is ready.
    pub(crate) fn start(program: &Path, pods: Pods<'_>) -> Result<Self> {
        ensure!(program.is_file(), "{} was not built", program.display());
        let directory = std::env::temp_dir().join(format!("asb-test-{}", std::process::id()));
        fs::create_dir_all(&directory).with_context(|| format!("create {}", directory.display()))?;
        let log = fs::File::create(directory.join("log")).context("create the log")?;
        let process = Command::new("sh")
            .args(["-c", &format!("{}; exec \"$0\" \"$@\"", pods.files())])
            .arg(program)
            .args(["up", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(&directory)
            .args(pods.arguments())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("start asb up")?;
        let this = Self { process, directory };
        let ready = Command::new(program)
            .args(["status", "--wait", "--data-dir"])
            .arg(&this.directory)
            .stdout(Stdio::null())
            .status()
            .context("run asb status")?;
        ensure!(ready.success(), "asb up does not get ready:\n{}", this.log());
        Ok(this)
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn environment(&self) -> [(&'static str, PathBuf); 2] {
        let kubeconfig = self.directory.join("kubeconfig");
        [("ASB_TEST_KUBECONFIG", kubeconfig.clone()), ("KUBECONFIG", kubeconfig)]
    }

    /// What it complained of.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }

    /// Asks it to end, and fails where it does not do so well.
    pub(crate) fn stop(mut self) -> Result<()> {
        let id = self.process.id().to_string();
        ensure!(
            Command::new("kill").arg(&id).status().context("run kill")?.success(),
            "asb up ended before its time"
        );
        let status = self.process.wait().context("wait for asb up")?;
        ensure!(status.success(), "asb up ended badly ({status}):\n{}", self.log());
        Ok(())
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // It may have ended already; either way nothing of it stays.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The program as cargo builds it.
pub(crate) fn program() -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace::root().join("target"), PathBuf::from);
    target.join("debug/asb")
}
