//! `kubectl exec -it` at a terminal, which `script` provides.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::kubectl::{self, Kubectl};
use crate::server::Server;

const DEADLINE: Duration = Duration::from_mins(1);

/// What happens at a terminal of 100 by 30 characters.
struct Terminal {
    script: Child,
    shown: String,
}

impl Terminal {
    /// Types a line in which `kubectl` is this kubectl.
    fn open(kubectl: &Kubectl, line: &str) -> Self {
        let line = line.replace("kubectl", &kubectl.program.to_string_lossy());
        let line = format!("stty rows 30 cols 100; {line}");
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).kill_on_drop(true);
        kubectl.surround(&mut command);
        let script = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script starts");
        Self { script, shown: String::new() }
    }

    async fn enter(&mut self, line: &str) {
        let keys = self.script.stdin.as_mut().expect("it is piped");
        keys.write_all(line.as_bytes()).await.expect("the terminal takes input");
    }

    /// Waits until `text` is shown.
    async fn shows(&mut self, text: &str) {
        while !self.shown.contains(text) {
            let mut piece = [0; 1024];
            let screen = self.script.stdout.as_mut().expect("it is piped");
            let read = timeout(DEADLINE, screen.read(&mut piece)).await.expect("something is shown in time");
            let read = read.expect("the terminal can be read");
            assert!(read > 0, "the terminal closed without {text:?}: {}", self.shown);
            self.shown += &String::from_utf8_lossy(&piece[..read]);
        }
    }

    async fn exit_code(mut self) -> Option<i32> {
        timeout(DEADLINE, self.script.wait()).await.expect("it ends in time").expect("it ends").code()
    }
}

#[tokio::test]
async fn exec_at_a_terminal_knows_its_size_and_carries_the_exit_code() {
    let server = Server::start().await;
    for kubectl in kubectl::all(&server) {
        let mut terminal = Terminal::open(&kubectl, "kubectl exec -it demo -- sh");
        terminal.shows("size 100x30").await;
        terminal.enter("hello\n").await;
        terminal.shows("you said hello").await;
        terminal.enter("exit 5\n").await;
        assert_eq!(terminal.exit_code().await, Some(5));
    }
}

#[tokio::test]
async fn a_process_at_a_terminal_is_told_when_its_size_changes() {
    let server = Server::start().await;
    for kubectl in kubectl::all(&server) {
        let folder = tempfile::tempdir().unwrap();
        let (go, make) =
            (folder.path().join("go"), Command::new("mkfifo").arg(folder.path().join("go")).status());
        assert!(make.await.unwrap().success());
        let resize = format!("(read go < {}; stty rows 40 cols 120 < /dev/tty)", go.display());
        let mut terminal = Terminal::open(&kubectl, &format!("{resize} & kubectl exec -it demo -- sh"));
        terminal.shows("size 100x30").await;
        fs::write(&go, "go\n").unwrap();
        terminal.shows("size 120x40").await;
        terminal.enter("exit 0\n").await;
        assert_eq!(terminal.exit_code().await, Some(0));
    }
}
