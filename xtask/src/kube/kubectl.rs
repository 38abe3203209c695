//! Talks to a cluster through its own kubectl, so that xtask needs no Kubernetes client of its own.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

use super::description::Description;

pub(crate) struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    cache: PathBuf,
}

impl Kubectl {
    pub(crate) fn of(cluster: &Description) -> Result<Self> {
        Ok(Self {
            program: cluster.program("kubectl")?.to_owned(),
            kubeconfig: cluster.kubeconfig(),
            cache: cluster.kubectl_cache(),
        })
    }

    pub(crate) fn new(program: PathBuf, kubeconfig: PathBuf, cache: PathBuf) -> Self {
        Self { program, kubeconfig, cache }
    }

    /// What kubectl says, or an error with what it complained about.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String> {
        let output = self.command(arguments).stdin(Stdio::null()).output().context("run kubectl")?;
        said(arguments, &output)
    }

    /// Applies objects given as YAML or JSON, on the server's side and as the owner of every field.
    pub(crate) fn apply(&self, objects: &str) -> Result<String> {
        let arguments = ["apply", "--server-side", "--force-conflicts", "--field-manager=xtask", "-f", "-"];
        let mut child = self
            .command(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("run kubectl")?;
        child.stdin.take().context("standard input is piped")?.write_all(objects.as_bytes())?;
        said(&arguments, &child.wait_with_output()?)
    }

    pub(crate) fn answers(&self, arguments: &[&str]) -> bool {
        self.run(arguments).is_ok()
    }

    /// Whether the API server says that it, its store and its controllers are ready.
    pub(crate) fn is_ready(&self) -> bool {
        self.answers(&["get", "--raw=/readyz", "--request-timeout=5s"])
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--kubeconfig").arg(&self.kubeconfig).arg("--cache-dir").arg(&self.cache).args(arguments);
        command
    }
}

fn said(arguments: &[&str], output: &Output) -> Result<String> {
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("kubectl {} failed: {}", arguments.join(" "), complaint.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
