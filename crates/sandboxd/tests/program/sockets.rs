//! A client of WebSockets, by hand.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::requests;
use super::service::Service;

pub(crate) struct Socket(BufReader<TcpStream>);

#[derive(Debug, PartialEq)]
pub(crate) enum Message {
    /// Stream, offset and bytes.
    Output(u8, u64, Vec<u8>),
    Text(Value),
    Pong,
    Close(u16),
}

pub(crate) const UPGRADE: [(&str, &str); 4] = [
    ("Upgrade", "websocket"),
    ("Connection", "keep-alive, Upgrade"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

impl Socket {
    pub(crate) fn open(service: &Service, path: &str) -> Self {
        let mut stream = BufReader::new(service.open("GET", path, &UPGRADE));
        let (status, headers) = requests::head(&mut stream);
        assert_eq!(status, 101);
        assert_eq!(headers["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        Self(stream)
    }

    pub(crate) fn send(&mut self, opcode: u8, payload: &[u8]) {
        let mut frame = vec![0x80 | opcode];
        match payload.len() {
            length @ ..126 => frame.push(0x80 | u8::try_from(length).unwrap()),
            length => {
                frame.push(0xfe);
                frame.extend(u16::try_from(length).unwrap().to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend_from_slice(payload);
        self.0.get_mut().write_all(&frame).unwrap();
    }

    pub(crate) fn order(&mut self, order: &Value) {
        self.send(1, order.to_string().as_bytes());
    }

    pub(crate) fn next(&mut self) -> Message {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).unwrap();
        let length = match head[1] {
            126 => u64::from(u16::from_be_bytes(self.bytes())),
            127 => u64::from_be_bytes(self.bytes()),
            short => u64::from(short),
        };
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.0.read_exact(&mut payload).unwrap();
        match head[0] & 0x0f {
            1 => Message::Text(serde_json::from_slice(&payload).unwrap()),
            2 => Message::Output(
                payload[0],
                u64::from_be_bytes(payload[1..9].try_into().unwrap()),
                payload[9..].to_vec(),
            ),
            8 => Message::Close(u16::from_be_bytes(payload[..2].try_into().unwrap())),
            10 => Message::Pong,
            other => panic!("a frame of kind {other}"),
        }
    }

    /// Everything until the end, as text, and the last two messages.
    pub(crate) fn rest(&mut self) -> (String, Value, u16) {
        let mut output = Vec::new();
        let mut last = Value::Null;
        loop {
            match self.next() {
                Message::Output(_, _, bytes) => output.extend(bytes),
                Message::Text(text) => last = text,
                Message::Pong => {}
                Message::Close(code) => return (String::from_utf8_lossy(&output).into_owned(), last, code),
            }
        }
    }

    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        self.0.get_mut()
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }
}
