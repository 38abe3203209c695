//! `kubectl exec -it` at a terminal, which `script` provides.

use tokio::process::Command;

use crate::kubectl::{self, Kubectl, finish, text};
use crate::server::Server;

/// kubectl behind a terminal of 100 by 30 characters.
fn at_a_terminal(kubectl: &Kubectl, arguments: &str) -> Command {
    let program = kubectl.program.to_string_lossy();
    let line = format!("stty rows 30 cols 100; {program} --server {} {arguments}", kubectl.server());
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    kubectl.surround(&mut command);
    command
}

#[tokio::test]
async fn exec_at_a_terminal_knows_its_size_and_carries_the_exit_code() {
    let server = Server::start().await;
    for kubectl in kubectl::all(&server) {
        let output = finish(at_a_terminal(&kubectl, "exec -it demo -- sh"), b"hello\nexit 5\n").await;
        let shown = text(&output.stdout);
        assert!(shown.contains("size 100x30"), "{shown}");
        assert!(shown.contains("you said hello"), "{shown}");
        assert_eq!(output.status.code(), Some(5), "{shown}");
    }
}
