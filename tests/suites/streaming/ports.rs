//! `kubectl port-forward`, to servers on this machine.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::kubectl::{self, Kubectl};
use crate::server::Server;

const DEADLINE: Duration = Duration::from_mins(1);

/// Sends back what it gets, on a port of its own.
pub(crate) async fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    tokio::spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((mut connection, _)) = listener.accept().await {
            connections.spawn(async move {
                let (mut reader, mut writer) = connection.split();
                let _ = tokio::io::copy(&mut reader, &mut writer).await;
                let _ = writer.shutdown().await;
            });
        }
    });
    port
}

/// A kubectl that forwards, and the port on which it listens.
struct Forward {
    child: Child,
    local: u16,
    _output: Lines<BufReader<ChildStdout>>,
}

async fn forward(kubectl: &Kubectl, to: &str, port: u16) -> Forward {
    let mut child = kubectl.start(&["port-forward", "--address", "127.0.0.1", to, &format!(":{port}")]);
    let mut output = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let line =
        timeout(DEADLINE, output.next_line()).await.expect("kubectl forwards in time").expect("it says text");
    let Some(line) = line else {
        panic!("kubectl: {}", rest(child.stderr.take().expect("it is piped")).await)
    };
    let local = line.strip_prefix("Forwarding from 127.0.0.1:").and_then(|it| it.split(' ').next());
    let local = local.unwrap_or_else(|| panic!("{line}")).parse().expect("a port");
    Forward { child, local, _output: output }
}

async fn rest(mut stderr: ChildStderr) -> String {
    let mut text = String::new();
    stderr.read_to_string(&mut text).await.expect("it says text");
    text
}

/// Sends `length` bytes, half-closes, and reads until the other side has closed too.
async fn round_trip(port: u16, length: usize) {
    let sent: Vec<u8> = (0..length).map(|index| (index % 253).to_le_bytes()[0]).collect();
    let (mut reader, mut writer) =
        TcpStream::connect(("127.0.0.1", port)).await.expect("kubectl listens").into_split();
    let sending = async {
        writer.write_all(&sent).await.expect("bytes are taken");
        writer.shutdown().await.expect("the end is taken");
    };
    let mut received = Vec::new();
    let (read, ()) = tokio::join!(reader.read_to_end(&mut received), sending);
    read.expect("bytes come back");
    assert!(received == sent, "{} of {length} bytes came back", received.len());
}

#[tokio::test]
async fn forwarded_connections_carry_their_bytes_side_by_side() {
    let server = Server::start().await;
    let port = echo().await;
    for kubectl in kubectl::all(&server) {
        let mut forward = forward(&kubectl, "pod/demo", port).await;
        let connections = [1, 100_000, 4 << 20, 0].map(|length| round_trip(forward.local, length));
        timeout(DEADLINE, futures::future::join_all(connections)).await.unwrap();
        assert!(forward.child.try_wait().unwrap().is_none(), "kubectl goes on forwarding");
    }
    server.stop().await;
}

#[tokio::test]
async fn the_port_of_a_service_leads_to_its_pod() {
    let server = Server::start().await;
    server.serve(echo().await).await;
    for kubectl in kubectl::all(&server) {
        let forward = forward(&kubectl, "svc/demo", 80).await;
        timeout(DEADLINE, round_trip(forward.local, 1000)).await.unwrap();
    }
}

#[tokio::test]
async fn a_port_that_nobody_listens_on_is_explained() {
    let server = Server::start().await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    for kubectl in kubectl::all(&server) {
        let mut forward = forward(&kubectl, "pod/demo", closed).await;
        let mut connection = TcpStream::connect(("127.0.0.1", forward.local)).await.unwrap();
        let mut received = Vec::new();
        // kubectl closes or resets the connection, as it happens.
        let _ = timeout(DEADLINE, connection.read_to_end(&mut received)).await.unwrap();
        let complaint = timeout(DEADLINE, first_complaint(&mut forward.child)).await.unwrap();
        assert!(complaint.contains(&format!("error forwarding port {closed} to pod demo")), "{complaint}");
        assert!(received.is_empty());
    }
}

async fn first_complaint(child: &mut Child) -> String {
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    lines.next_line().await.expect("it says text").unwrap_or_default()
}
