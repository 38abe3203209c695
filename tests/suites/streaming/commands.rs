//! exec and attach with kubectl.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::kubectl::{self, text};
use crate::server::Server;

#[tokio::test]
async fn exec_carries_input_output_errors_and_the_exit_code() {
    let server = Server::start().await;
    for kubectl in kubectl::all(&server) {
        let command = ["exec", "-i", "demo", "--", "sh", "-c", "cat; echo problem >&2; exit 3"];
        let output = kubectl.run(&command, b"hello").await;
        assert_eq!(text(&output.stdout), "hello");
        assert_eq!(text(&output.stderr), "problem\ncommand terminated with exit code 3\n");
        assert_eq!(output.status.code(), Some(3));
    }
    server.stop().await;
}

#[tokio::test]
async fn exec_carries_megabytes_unchanged() {
    let server = Server::start().await;
    let bytes: Vec<u8> = (0..8_u32 << 20).map(|index| (index % 251).to_le_bytes()[0]).collect();
    for kubectl in kubectl::all(&server) {
        let output = kubectl.run(&["exec", "-i", "demo", "--", "cat"], &bytes).await;
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(output.stdout == bytes, "{} bytes came back", output.stdout.len());
    }
}

/// The output of a process that leaves its input unread must arrive, although the input is still on its way.
#[tokio::test]
async fn a_command_may_leave_its_input_unread() {
    let server = Server::start().await;
    let bytes = vec![0; 4 << 20];
    for kubectl in kubectl::all(&server) {
        let output = kubectl.run(&["exec", "-i", "demo", "--", "echo", "done"], &bytes).await;
        assert_eq!(text(&output.stdout), "done\n", "{}", text(&output.stderr));
        assert!(output.status.success());
    }
}

#[tokio::test]
async fn a_command_that_cannot_be_started_is_explained() {
    let server = Server::start().await;
    for kubectl in kubectl::all(&server) {
        let output = kubectl.run(&["exec", "demo", "--", "/no/such/program"], b"").await;
        assert!(text(&output.stderr).contains("/no/such/program: No such file"), "{}", text(&output.stderr));
        assert!(!output.status.success());
    }
}

#[tokio::test]
async fn attach_joins_the_main_process() {
    let server = Server::start().await;
    for kubectl in kubectl::all(&server) {
        let output = kubectl.run(&["attach", "-i", "demo"], b"anybody there?\n").await;
        assert!(text(&output.stdout).ends_with("anybody there?\n"), "{output:?}");
        assert!(output.status.success(), "{output:?}");
    }
}

#[tokio::test]
async fn stopping_ends_the_sessions_that_are_open() {
    let server = Server::start().await;
    let [kubectl, ..] = &kubectl::all(&server)[..] else { panic!("there is a kubectl") };
    let mut child = kubectl.start(&["exec", "-i", "demo", "--", "cat"]);
    child.stdin.as_mut().unwrap().write_all(b"x").await.unwrap();
    assert_eq!(child.stdout.as_mut().unwrap().read_u8().await.unwrap(), b'x');
    server.stop().await;
    assert!(!child.wait().await.unwrap().success());
}

/// A process that took the end of a broken connection for the end of its input would act on half of it.
#[tokio::test]
async fn a_client_that_dies_does_not_complete_its_input() {
    let server = Server::start().await;
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("whole");
    for kubectl in kubectl::all(&server) {
        let script = format!("cat; touch {}", marker.display());
        let mut child = kubectl.start(&["exec", "-i", "demo", "--", "sh", "-c", &script]);
        child.stdin.as_mut().unwrap().write_all(b"x").await.unwrap();
        assert_eq!(child.stdout.as_mut().unwrap().read_u8().await.unwrap(), b'x');
        child.kill().await.unwrap();
    }
    server.idle().await;
    assert!(!marker.exists());
}
