//! Programs on top of the Go and Python client libraries.

use std::env;
use std::ffi::OsString;

use tokio::process::Command;

use crate::kubectl::{finish, text};
use crate::ports::echo;
use crate::server::Server;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/python/streams.py");

fn given(variable: &str) -> OsString {
    env::var_os(variable)
        .unwrap_or_else(|| panic!("{variable} is not set; `cargo xtask test clients` does it"))
}

async fn output(mut command: Command, server: &Server) -> String {
    let port = echo().await.to_string();
    command.args([server.address.as_str(), "demo", &port]);
    let output = finish(command, b"").await;
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

#[tokio::test]
async fn client_go_forwards_ports_and_runs_commands_over_spdy() {
    let server = Server::start().await;
    let output = output(Command::new(given("ASB_TEST_GO_CLIENT")), &server).await;
    let echoed = "echoed 1048576\n".repeat(3);
    assert_eq!(output, format!("{echoed}stdout \"input\", stderr \"problem\\n\", exit 7\n"));
    assert_eq!(server.asked(), ["portforward SPDY/3.1", "exec SPDY/3.1"]);
}

#[tokio::test]
async fn the_python_client_runs_commands_and_forwards_ports() {
    let server = Server::start().await;
    let mut command = Command::new(given("ASB_TEST_PYTHON"));
    command.arg(SCRIPT);
    let expected = [
        "ran ['err', 'out']",
        "read hello over v5.channel.k8s.io",
        "exit 7",
        "echoed 262144 True error None",
    ];
    assert_eq!(output(command, &server).await.lines().collect::<Vec<_>>(), expected);
}
