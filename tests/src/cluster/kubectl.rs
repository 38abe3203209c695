//! Runs kubectl against the cluster under test, with a deadline and a discovery cache of its own.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use super::Error;

const DEADLINE: Duration = Duration::from_mins(1);

/// How kubectl is called.
#[derive(Clone, Debug)]
pub struct Kubectl {
    program: OsString,
    kubeconfig: OsString,
}

/// What kubectl said and how it ended.
#[derive(Clone, Debug)]
pub struct Output {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    arguments: String,
}

impl Kubectl {
    pub(super) fn new(program: OsString, kubeconfig: OsString) -> Self {
        Self { program, kubeconfig }
    }

    pub(super) async fn run(&self, arguments: &[&str], stdin: Option<&str>) -> Result<Output, Error> {
        let words = arguments.join(" ");
        let ended = timeout(DEADLINE, talk(self.command(arguments), stdin.unwrap_or_default())).await;
        let output = ended
            .map_err(|_| Error::KubectlTimedOut { arguments: words.clone(), seconds: DEADLINE.as_secs() })?
            .map_err(|source| Error::Kubectl { arguments: words.clone(), source })?;
        Ok(Output {
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            arguments: words,
        })
    }

    pub(super) fn start(&self, arguments: &[&str]) -> Result<Child, Error> {
        let started = self.command(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        started.map_err(|source| Error::Kubectl { arguments: arguments.join(" "), source })
    }

    /// Starts kubectl and leaves it to itself, for where nothing can be awaited. Whether it works is not known.
    pub(super) fn launch(&self, arguments: &[&str]) {
        let mut command = self.command(arguments).into_std();
        // A kubectl that cannot be started leaves something behind in a cluster made for tests, no more.
        let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).env("KUBECONFIG", &self.kubeconfig).kill_on_drop(true);
        if let Some(folder) = cache(&self.kubeconfig) {
            command.env("KUBECACHEDIR", folder);
        }
        command
    }
}

impl Output {
    /// What kubectl printed, or an error with its complaint.
    pub fn success(self) -> Result<String, Error> {
        if self.status.success() {
            Ok(self.stdout)
        } else {
            Err(Error::KubectlFailed { arguments: self.arguments, stderr: self.stderr })
        }
    }
}

/// kubectl caches discovery by host and port, which clusters made for tests reuse; so the cache lives and dies
/// with the kubeconfig.
fn cache(kubeconfig: &OsStr) -> Option<PathBuf> {
    let first = env::split_paths(kubeconfig).next()?;
    Some(first.parent()?.join("kubectl-cache"))
}

async fn talk(mut command: Command, stdin: &str) -> io::Result<std::process::Output> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let input = child.stdin.take().expect("stdin is piped");
    let ((), output) = tokio::join!(feed(input, stdin), child.wait_with_output());
    output
}

/// A kubectl that ends without reading its input says why on its own; the broken pipe adds nothing.
async fn feed(mut input: ChildStdin, text: &str) {
    let _ = input.write_all(text.as_bytes()).await;
}
