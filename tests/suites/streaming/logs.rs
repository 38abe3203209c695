//! `kubectl logs`.

use tokio::io::{AsyncBufReadExt, BufReader};

use crate::kubectl::{self, text};
use crate::server::Server;

#[tokio::test]
async fn a_followed_log_arrives_as_it_is_written() {
    let server = Server::start().await;
    for kubectl in kubectl::all(&server) {
        let mut child = kubectl.start(&["logs", "-f", "demo"]);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for line in ["one", "two"] {
            assert_eq!(lines.next_line().await.unwrap().as_deref(), Some(line));
        }
        server.more_log.notify_one();
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("three"));
        assert!(child.wait().await.unwrap().success());
    }
}

#[tokio::test]
async fn part_of_a_log_can_be_asked_for() {
    let server = Server::start().await;
    for kubectl in kubectl::all(&server) {
        for (flags, expected) in
            [("--tail=1", "two\n"), ("--previous", "before\n"), ("--container=main", "one\ntwo\n")]
        {
            let output = kubectl.run(&["logs", "demo", flags], b"").await;
            assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
        }
    }
}

#[tokio::test]
async fn the_log_of_a_pod_that_is_not_there_is_refused() {
    let server = Server::start().await;
    for kubectl in kubectl::all(&server) {
        let output = kubectl.run(&["logs", "other"], b"").await;
        let complaint =
            "error: error from server (NotFound): pods \"other\" not found in namespace \"default\"\n";
        assert_eq!(text(&output.stderr), complaint);
    }
}
