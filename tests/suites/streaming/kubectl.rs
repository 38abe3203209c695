//! kubectl, in the versions at hand and over both of its transports.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::server::Server;

const DEADLINE: Duration = Duration::from_mins(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    WebSocket,
    Spdy,
}

/// One version of kubectl over one transport, with a home of its own.
pub(crate) struct Kubectl {
    pub(crate) program: OsString,
    pub(crate) transport: Transport,
    kubeconfig: PathBuf,
    home: TempDir,
}

/// Every combination there is. The pinned kubectl must be there; one on PATH is tried too.
pub(crate) fn all(server: &Server) -> Vec<Kubectl> {
    let pinned = env::var_os("ASB_TEST_KUBECTL")
        .expect("ASB_TEST_KUBECTL names a kubectl; `cargo xtask test clients` sets it");
    let programs = [Some(pinned), installed()].into_iter().flatten();
    let kubectl = |program: OsString, transport| Kubectl {
        program,
        transport,
        kubeconfig: server.kubeconfig(),
        home: tempfile::tempdir().expect("a home for kubectl"),
    };
    programs
        .flat_map(|program| [Transport::WebSocket, Transport::Spdy].map(|it| kubectl(program.clone(), it)))
        .collect()
}

fn installed() -> Option<OsString> {
    let folders = env::var_os("PATH")?;
    let found = env::split_paths(&folders).map(|folder| folder.join("kubectl")).find(|path| path.is_file());
    found.map(Into::into)
}

impl Kubectl {
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).kill_on_drop(true);
        self.surround(&mut command);
        command
    }

    /// Settings for a program that calls kubectl, or for kubectl itself.
    pub(crate) fn surround(&self, command: &mut Command) {
        let websockets = if self.transport == Transport::WebSocket { "true" } else { "false" };
        command
            .env("HOME", self.home.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", self.home.path().join("cache"))
            .env("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", websockets)
            .env("KUBECTL_PORT_FORWARD_WEBSOCKETS", websockets);
    }

    /// Runs kubectl to its end.
    pub(crate) async fn run(&self, arguments: &[&str], input: &[u8]) -> Output {
        finish(self.command(arguments), input).await
    }

    /// Starts kubectl and leaves its output to the caller.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl starts")
    }
}

/// Runs a program to its end, with a deadline.
pub(crate) async fn finish(mut command: Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("its input is piped");
    let feed = async move {
        // A program that ends without reading its input says why on its own.
        let _ = stdin.write_all(input).await;
    };
    let ended = timeout(DEADLINE, async { tokio::join!(feed, child.wait_with_output()).1 }).await;
    ended.unwrap_or_else(|_| panic!("{command:?} did not end in time")).expect("its output can be read")
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it says text")
}
