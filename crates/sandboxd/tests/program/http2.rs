//! HTTP/2 by hand, so that what is sent is what no client would send.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use super::requests::connect;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// The fields of a request, without compression.
pub(crate) fn request(method: &str, path: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let fixed = [(":method", method), (":scheme", "http"), (":path", path), (":authority", "x")];
    let length = |text: &str| u8::try_from(text.len()).ok().filter(|length| *length < 127).unwrap();
    let field = |(name, value): &(&str, &str)| {
        [&[0, length(name)][..], name.as_bytes(), &[length(value)], value.as_bytes()].concat()
    };
    fixed.iter().chain(fields).flat_map(field).collect()
}

/// How a connection came to its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With a word, and its code.
    Goaway(u32),
    Closed,
}

pub(crate) struct Connection(pub(crate) TcpStream);

impl Connection {
    /// Begun as it should be.
    pub(crate) fn open(port: u16) -> Self {
        let mut stream = connect(port);
        stream.write_all(PREFACE).unwrap();
        stream.write_all(&frame(SETTINGS, 0, 0, &[])).unwrap();
        Self(stream)
    }

    /// Sends the same again and again, reading nothing, until no more is taken or that is enough. Says how many bytes were.
    pub(crate) fn flood(&mut self, bytes: &[u8], most: usize) -> usize {
        let mut sent = 0;
        while sent < most {
            let rest = &bytes[sent % bytes.len()..];
            match self.0.write(&rest[..rest.len().min(most - sent)]) {
                Ok(length) => sent += length,
                // It is closed, or full for as long as we wait.
                Err(_) => break,
            }
        }
        sent
    }

    /// Reads until it is over, which it must be in time.
    pub(crate) fn end(&mut self) -> End {
        loop {
            let Some(head) = self.read(9) else { return End::Closed };
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let Some(payload) = self.read(length) else { return End::Closed };
            if head[3] == GOAWAY {
                return End::Goaway(u32::from_be_bytes(payload[4..8].try_into().unwrap()));
            }
        }
    }

    fn read(&mut self, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        match self.0.read_exact(&mut bytes) {
            Ok(()) => Some(bytes),
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("it goes on and on"),
            Err(_) => None,
        }
    }
}
