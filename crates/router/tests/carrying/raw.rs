//! A client that sends bytes, whatever they are, and reads what comes back.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::PATIENCE;

/// One answer of HTTP/1.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// How a flood ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flood {
    /// The router hung up.
    Closed,
    /// It takes no more for now.
    Stalled,
    /// It took everything.
    Swallowed,
}

pub(crate) async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.expect("connects")
}

/// Sends and reads until the router closes. Fails if it never does.
pub(crate) async fn exchange(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(address).await;
    // A router that has refused the beginning need not read the end.
    let _ = stream.write_all(bytes).await;
    until_closed(&mut stream).await
}

/// All that comes until the end, be it a clean one or not.
pub(crate) async fn until_closed(stream: &mut TcpStream) -> Vec<u8> {
    let mut heard = Vec::new();
    let reading = async {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(length @ 1..) = stream.read(&mut buffer).await {
            heard.extend_from_slice(&buffer[..length]);
        }
    };
    let ended = tokio::time::timeout(PATIENCE, reading).await;
    assert!(
        ended.is_ok(),
        "the router neither went on nor hung up after {:?}",
        String::from_utf8_lossy(&heard)
    );
    heard
}

/// What the router said, answer by answer. Fails where it is no sequence of whole answers.
pub(crate) fn answers(mut bytes: &[u8]) -> Vec<Answer> {
    let mut answers = Vec::new();
    while !bytes.is_empty() {
        let text = String::from_utf8_lossy(bytes);
        let end =
            bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_else(|| panic!("torn: {text}"));
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse().ok());
        let status: u16 = status.unwrap_or_else(|| panic!("no answer: {head}"));
        let length = head
            .to_ascii_lowercase()
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let length: usize = length.unwrap_or(0);
        let rest = &bytes[end + 4..];
        assert!(rest.len() >= length, "torn: {text}");
        if status != 100 {
            let body = String::from_utf8_lossy(&rest[..length]).into_owned();
            answers.push(Answer { status, head, body });
        }
        bytes = &rest[length..];
    }
    answers
}

/// Writes the same again and again without reading anything.
pub(crate) async fn flood(stream: &mut TcpStream, bytes: &[u8], most: usize) -> Flood {
    let mut sent = 0;
    while sent < most {
        match tokio::time::timeout(Duration::from_secs(1), stream.write(bytes)).await {
            Ok(Ok(length)) => sent += length,
            Ok(Err(_)) => return Flood::Closed,
            Err(_) => return Flood::Stalled,
        }
    }
    Flood::Swallowed
}
