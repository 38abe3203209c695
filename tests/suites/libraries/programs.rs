//! The programs in Go and Python: each is given a namespace, and what it prints is compared.

use std::env;
use std::ffi::OsString;
use std::time::Duration;

use asb_tests::Cluster;
use tokio::process::Command;
use tokio::time::timeout;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/python/objects.py");
const DEADLINE: Duration = Duration::from_mins(2);

fn given(variable: &str) -> OsString {
    env::var_os(variable)
        .unwrap_or_else(|| panic!("{variable} is not set; `cargo xtask test clients` does it"))
}

async fn output(mut command: Command) -> String {
    let cluster = Cluster::connect().await.expect("a Kubernetes to test against");
    let namespace = cluster.namespace().await.expect("a namespace for the program");
    command.arg(namespace.name()).env("KUBECONFIG", given("ASB_TEST_KUBECONFIG")).kill_on_drop(true);
    let output = timeout(DEADLINE, command.output()).await.expect("it ends in time").expect("it starts");
    namespace.finish().await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it prints text")
}

async fn go(subject: &str) -> String {
    let mut command = Command::new(given("ASB_TEST_GO_CLIENT"));
    command.arg(subject);
    output(command).await
}

#[tokio::test]
async fn generated_clients_of_go_write_and_read() {
    insta::assert_snapshot!(go("typed").await);
}

#[tokio::test]
async fn the_dynamic_client_of_go_finds_and_uses_our_kinds() {
    insta::assert_snapshot!(go("dynamic").await);
}

#[tokio::test]
async fn informers_of_go_follow_a_stream_that_begins_with_what_there_is() {
    insta::assert_snapshot!(go("informer").await);
}

#[tokio::test]
async fn managers_in_go_meet_on_a_field() {
    insta::assert_snapshot!(go("apply").await);
}

#[tokio::test]
async fn candidates_in_go_elect_a_leader() {
    insta::assert_snapshot!(go("election").await);
}

#[tokio::test]
async fn pods_are_evicted_from_go() {
    insta::assert_snapshot!(go("eviction").await);
}

#[tokio::test]
async fn the_python_client_does_what_the_sdk_does() {
    let mut command = Command::new(given("ASB_TEST_PYTHON"));
    command.arg(SCRIPT);
    insta::assert_snapshot!(output(command).await);
}
