//! Programs on top of the Go, Python and Rust client libraries.

use std::env;
use std::ffi::OsString;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, AttachParams, LogParams};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
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
    command.env("KUBECONFIG", server.kubeconfig()).args(["demo", &port, "default"]);
    let output = finish(command, b"").await;
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

#[tokio::test]
async fn client_go_forwards_ports_and_runs_commands_over_both_transports() {
    let server = Server::start().await;
    let mut command = Command::new(given("ASB_TEST_GO_CLIENT"));
    command.arg("streams");
    let ran = ["SPDY", "WebSocket"].map(|it| format!(r#"{it}: stdout "input", stderr "problem\n", exit 7"#));
    let expected = [&["echoed 1048576"; 3][..], &ran.each_ref().map(String::as_str)].concat();
    assert_eq!(output(command, &server).await.lines().collect::<Vec<_>>(), expected);
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
        "read hello over v4.channel.k8s.io",
        "exit 7",
        "echoed 262144 True error None",
    ];
    assert_eq!(output(command, &server).await.lines().collect::<Vec<_>>(), expected);
}

async fn pods(server: &Server) -> Api<Pod> {
    Api::default_namespaced(server.client().await)
}

#[tokio::test]
async fn kube_rs_runs_commands() {
    let server = Server::start().await;
    let parameters = AttachParams::default().stdin(true).stderr(false);
    let mut process =
        pods(&server).await.exec("demo", ["sh", "-c", "head -n 1; exit 4"], &parameters).await.unwrap();
    process.stdin().unwrap().write_all(b"hello\n").await.unwrap();
    let mut output = String::new();
    process.stdout().unwrap().read_to_string(&mut output).await.unwrap();
    let status = process.take_status().unwrap().await.unwrap();
    assert_eq!((output.as_str(), status.reason.as_deref()), ("hello\n", Some("NonZeroExitCode")));
}

#[tokio::test]
async fn kube_rs_attaches() {
    let server = Server::start().await;
    let parameters = AttachParams::default().stdin(true).stderr(false);
    let mut process = pods(&server).await.attach("demo", &parameters).await.unwrap();
    process.stdin().unwrap().write_all(b"hello").await.unwrap();
    let mut output = [0; 5];
    process.stdout().unwrap().read_exact(&mut output).await.unwrap();
    assert_eq!(&output, b"hello");
}

#[tokio::test]
async fn kube_rs_reads_logs() {
    let server = Server::start().await;
    let log =
        pods(&server).await.logs("demo", &LogParams { tail_lines: Some(1), ..LogParams::default() }).await;
    assert_eq!(log.unwrap(), "two\n");
}

#[tokio::test]
async fn kube_rs_forwards_ports() {
    let server = Server::start().await;
    let port = echo().await;
    let mut forwarder = pods(&server).await.portforward("demo", &[port]).await.unwrap();
    let mut connection = forwarder.take_stream(port).unwrap();
    connection.write_all(b"hello").await.unwrap();
    let mut received = [0; 5];
    connection.read_exact(&mut received).await.unwrap();
    drop(connection);
    forwarder.join().await.unwrap();
    assert_eq!(&received, b"hello");
}

#[tokio::test]
async fn kube_rs_reads_what_went_wrong_with_a_port() {
    let server = Server::start().await;
    let mut forwarder = pods(&server).await.portforward("demo", &[1]).await.unwrap();
    let complaint = forwarder.take_error(1).unwrap().await.unwrap();
    assert!(complaint.contains("error forwarding port 1 to pod demo"), "{complaint}");
}
