//! Questions that others answer.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hickory_proto::op::{Message, MessageType};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use super::answer::Transport;
use super::serve::{read, write};

/// How long one server may take; then the next is asked.
const PATIENCE: Duration = Duration::from_secs(3);
const LARGEST_ANSWER: usize = 4096;

/// The first answer that any of the servers gives. Each question has a number and a port of its own, so that nobody who
/// does not see it can answer it.
pub(super) async fn ask(question: &Message, servers: &[SocketAddr], transport: Transport) -> Option<Message> {
    for server in servers {
        let mut asked = question.clone();
        asked.metadata.id = Message::query().metadata.id;
        let answer = timeout(PATIENCE, exchange(&asked, *server, transport)).await;
        if let Ok(Ok(mut answer)) = answer {
            answer.metadata.id = question.metadata.id;
            return Some(answer);
        }
    }
    None
}

/// An answer that was cut to fit a datagram is fetched again over a stream, if the client has room for it.
async fn exchange(asked: &Message, server: SocketAddr, transport: Transport) -> io::Result<Message> {
    let bytes = asked.to_vec().map_err(io::Error::other)?;
    let answer = by_datagram(&bytes, asked, server).await?;
    match transport {
        Transport::Stream if answer.metadata.truncation => by_stream(&bytes, asked, server).await,
        Transport::Stream | Transport::Datagram => Ok(answer),
    }
}

async fn by_datagram(bytes: &[u8], asked: &Message, server: SocketAddr) -> io::Result<Message> {
    let own: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(own).await?;
    socket.connect(server).await?;
    socket.send(bytes).await?;
    let mut buffer = vec![0; LARGEST_ANSWER];
    loop {
        let length = socket.recv(&mut buffer).await?;
        if let Some(answer) = fitting(&buffer[..length], asked) {
            return Ok(answer);
        }
    }
}

async fn by_stream(bytes: &[u8], asked: &Message, server: SocketAddr) -> io::Result<Message> {
    let mut stream = TcpStream::connect(server).await?;
    write(&mut stream, bytes).await?;
    let answer = read(&mut stream).await?;
    fitting(&answer, asked).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// The answer, if it is one to this question.
fn fitting(bytes: &[u8], asked: &Message) -> Option<Message> {
    let answer = Message::from_vec(bytes).ok()?;
    let is_answer =
        answer.metadata.message_type == MessageType::Response && answer.metadata.id == asked.metadata.id;
    (is_answer && answer.queries == asked.queries).then_some(answer)
}
