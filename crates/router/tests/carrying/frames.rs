//! HTTP/2 by hand: frames as they are on the wire, and headers in the plainest of HPACK's ways, so that nothing keeps a test from
//! saying what no client library would.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::raw;
use crate::world::PATIENCE;

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RESET: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// With status 200, and this body.
    Answered(String),
    /// With another status.
    Refused,
    /// The stream, or the whole connection.
    Broken,
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// A block of headers: each a literal that is not remembered.
pub(crate) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        text(&mut block, name.as_bytes());
        text(&mut block, value.as_bytes());
    }
    block
}

fn text(block: &mut Vec<u8>, bytes: &[u8]) {
    match bytes.len().checked_sub(127) {
        None => block.push(u8::try_from(bytes.len()).expect("below 127")),
        Some(mut rest) => {
            block.push(127);
            while rest >= 128 {
                block.push(u8::try_from(rest % 128).expect("below 128") | 128);
                rest /= 128;
            }
            block.push(u8::try_from(rest).expect("below 128"));
        }
    }
    block.extend_from_slice(bytes);
}

/// A connection on which settings were exchanged.
pub(crate) async fn connect(address: SocketAddr) -> TcpStream {
    let mut stream = raw::connect(address).await;
    stream.write_all(PREFACE).await.expect("sent");
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.expect("sent");
    stream
}

pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// Nothing, when the router has hung up.
pub(crate) async fn next(stream: &mut TcpStream) -> Option<Frame> {
    let reading = async {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).expect("24 bits")];
        stream.read_exact(&mut payload).await.ok()?;
        let number = u32::from_be_bytes([head[5] & 127, head[6], head[7], head[8]]);
        Some(Frame { kind: head[3], flags: head[4], stream: number, payload })
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("the router goes on or hangs up")
}

/// Reads on until the stream has ended one way or another.
pub(crate) async fn fate(stream: &mut TcpStream, number: u32) -> Fate {
    let (mut is_good, mut body) = (false, Vec::new());
    while let Some(frame) = next(stream).await {
        match frame.kind {
            GOAWAY => return Fate::Broken,
            RESET if frame.stream == number => return Fate::Broken,
            // `:status: 200` is entry 8 of the static table.
            HEADERS if frame.stream == number => is_good = frame.payload.first() == Some(&0x88),
            DATA if frame.stream == number => body.extend(frame.payload),
            _ => continue,
        }
        if frame.stream == number && frame.flags & END_STREAM != 0 {
            let body = String::from_utf8_lossy(&body).into_owned();
            return if is_good { Fate::Answered(body) } else { Fate::Refused };
        }
    }
    Fate::Broken
}
