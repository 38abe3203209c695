//! Questions as they come over the wire.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::View;
use super::answer::{Transport, reply};
use crate::network::limits::{Limits, Permit};

const LARGEST_QUESTION: usize = 4096;
/// How long a connection may be idle between two questions, or slow within one.
const IDLE: Duration = Duration::from_secs(10);
/// After an error of the socket itself, so that a broken one does not spin.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) async fn datagrams(
    socket: Arc<UdpSocket>,
    own: SocketAddr,
    view: watch::Receiver<View>,
    limits: Arc<Limits>,
) {
    let mut tasks = JoinSet::new();
    let mut buffer = vec![0; LARGEST_QUESTION];
    loop {
        while tasks.try_join_next().is_some() {}
        let Ok((length, client)) = socket.recv_from(&mut buffer).await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Some(permit) = limits.admit(client.ip()) else { continue };
        let (question, socket, view) =
            (buffer[..length].to_vec(), Arc::clone(&socket), view.borrow().clone());
        tasks.spawn(async move {
            if let Some(answer) = reply(&question, &view, own, Transport::Datagram).await {
                // A Pod that is gone hears nothing.
                let _ = socket.send_to(&answer, client).await;
            }
            drop(permit);
        });
    }
}

pub(super) async fn connections(
    listener: TcpListener,
    own: SocketAddr,
    view: watch::Receiver<View>,
    limits: Arc<Limits>,
) {
    let mut tasks = JoinSet::new();
    loop {
        while tasks.try_join_next().is_some() {}
        let Ok((stream, client)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        if let Some(permit) = limits.admit(client.ip()) {
            tasks.spawn(converse(stream, own, view.clone(), permit));
        }
    }
}

/// One question after another, until the client is silent for too long.
async fn converse(mut stream: TcpStream, own: SocketAddr, view: watch::Receiver<View>, permit: Permit) {
    while let Ok(Ok(question)) = timeout(IDLE, read(&mut stream)).await {
        let known = view.borrow().clone();
        let Some(answer) = reply(&question, &known, own, Transport::Stream).await else { break };
        let Ok(Ok(())) = timeout(IDLE, write(&mut stream, &answer)).await else { break };
    }
    drop(permit);
}

/// Messages on a stream say their length first.
pub(super) async fn read(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let length = stream.read_u16().await?;
    let mut message = vec![0; usize::from(length)];
    stream.read_exact(&mut message).await?;
    Ok(message)
}

pub(super) async fn write(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    let length = u16::try_from(message.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    let framed = [&length.to_be_bytes()[..], message].concat();
    stream.write_all(&framed).await
}
