//! Conversations with the kernel over netlink: requests that are answered before `send` returns, and dumps.

use std::io;
use std::time::Duration;

use netlink_sys::{Socket, SocketAddr};
use rustix::net::sockopt::{self, Timeout};

pub(super) const REQUEST: u16 = 0x1;
pub(super) const ACKNOWLEDGE: u16 = 0x4;
pub(super) const REPLACE: u16 = 0x100;
pub(super) const EXCLUSIVE: u16 = 0x200;
pub(super) const CREATE: u16 = 0x400;
pub(super) const APPEND: u16 = 0x800;
const DUMP: u16 = 0x300;
/// Tells that a dump was taken while things changed.
const INTERRUPTED: u16 = 0x10;

const ERROR: u16 = 2;
const DONE: u16 = 3;
const HEADER: usize = 16;

/// A change of all rules is one datagram; this is room for some ten thousand Pods.
const LARGEST: usize = 32 << 20;
/// The kernel answers at once; a wait means that the conversation has gone wrong.
const PATIENCE: Duration = Duration::from_secs(10);
const ATTEMPTS: usize = 5;

/// One message, without the part of its header that belongs to the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) kind: u16,
    pub(super) flags: u16,
    pub(super) payload: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    #[error("netlink failed")]
    Socket(#[source] io::Error),
    /// Which of the messages that were sent together it was.
    #[error("the kernel refused step {step}")]
    Refused {
        step: usize,
        #[source]
        reason: io::Error,
    },
    #[error("the kernel's answer is cut off")]
    Malformed,
    #[error("what is listed kept changing")]
    Unsteady,
}

impl NetlinkError {
    /// Whether the kernel refused with this error number.
    pub(super) fn is(&self, number: rustix::io::Errno) -> bool {
        matches!(self, Self::Refused { reason, .. } if reason.raw_os_error() == Some(number.raw_os_error()))
    }
}

pub(super) struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// A conversation with the network namespace of the calling thread, wherever it is used afterwards.
    pub(super) fn open(protocol: isize) -> Result<Self, NetlinkError> {
        let mut socket = Socket::new(protocol).map_err(NetlinkError::Socket)?;
        socket.bind_auto().map_err(NetlinkError::Socket)?;
        let settle = || {
            sockopt::set_socket_send_buffer_size_force(&socket, LARGEST)?;
            sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))
        };
        settle().map_err(|error| NetlinkError::Socket(error.into()))?;
        socket.connect(&SocketAddr::new(0, 0)).map_err(NetlinkError::Socket)?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Sends all messages at once, and waits for the last acknowledgement that they ask for.
    pub(super) fn send(&mut self, messages: &[Message]) -> Result<(), NetlinkError> {
        let first = self.sequence.wrapping_add(1);
        let mut datagram = Vec::new();
        for message in messages {
            self.sequence = self.sequence.wrapping_add(1);
            encode(message, self.sequence, &mut datagram);
        }
        self.socket.send(&datagram, 0).map_err(NetlinkError::Socket)?;
        let last = messages.iter().rposition(|message| message.flags & ACKNOWLEDGE != 0);
        last.map_or(Ok(()), |last| self.acknowledgements(first, last))
    }

    /// The first refusal counts: later ones may only follow from it.
    fn acknowledgements(&mut self, first: u32, last: usize) -> Result<(), NetlinkError> {
        let mut refusal = None;
        loop {
            for (header, payload) in self.receive()? {
                let step = usize::try_from(header.sequence.wrapping_sub(first)).unwrap_or(usize::MAX);
                if header.kind != ERROR || step > last {
                    continue;
                }
                let reason = error_number(&payload)?;
                if let Some(reason) = reason {
                    refusal.get_or_insert(NetlinkError::Refused { step, reason });
                }
                if step == last {
                    return refusal.map_or(Ok(()), Err);
                }
            }
        }
    }

    /// The one thing that is asked for.
    pub(super) fn fetch(&mut self, request: &Message) -> Result<Message, NetlinkError> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut datagram = Vec::new();
        let request = Message { flags: REQUEST, ..request.clone() };
        encode(&request, self.sequence, &mut datagram);
        self.socket.send(&datagram, 0).map_err(NetlinkError::Socket)?;
        loop {
            let answers = self.receive()?;
            let answer = answers.into_iter().find(|(header, _)| header.sequence == self.sequence);
            let Some((header, payload)) = answer else { continue };
            if header.kind != ERROR {
                return Ok(Message { kind: header.kind, flags: header.flags, payload });
            }
            let reason = error_number(&payload)?.ok_or(NetlinkError::Malformed)?;
            return Err(NetlinkError::Refused { step: 0, reason });
        }
    }

    /// Everything that matches the request.
    pub(super) fn dump(&mut self, request: &Message) -> Result<Vec<Message>, NetlinkError> {
        for _ in 0..ATTEMPTS {
            if let Some(listed) = self.dump_once(request)? {
                return Ok(listed);
            }
        }
        Err(NetlinkError::Unsteady)
    }

    fn dump_once(&mut self, request: &Message) -> Result<Option<Vec<Message>>, NetlinkError> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut datagram = Vec::new();
        let request = Message { flags: request.flags | REQUEST | DUMP, ..request.clone() };
        encode(&request, self.sequence, &mut datagram);
        self.socket.send(&datagram, 0).map_err(NetlinkError::Socket)?;
        let (mut listed, mut is_steady) = (Vec::new(), true);
        loop {
            for (header, payload) in self.receive()? {
                if header.sequence != self.sequence {
                    continue;
                }
                is_steady &= header.flags & INTERRUPTED == 0;
                match header.kind {
                    DONE => return Ok(is_steady.then_some(listed)),
                    ERROR => {
                        let reason = error_number(&payload)?.ok_or(NetlinkError::Malformed)?;
                        return Err(NetlinkError::Refused { step: 0, reason });
                    }
                    kind => listed.push(Message { kind, flags: header.flags, payload }),
                }
            }
        }
    }

    fn receive(&self) -> Result<Vec<(Header, Vec<u8>)>, NetlinkError> {
        let (datagram, _) = self.socket.recv_from_full().map_err(NetlinkError::Socket)?;
        decode(&datagram)
    }
}

struct Header {
    kind: u16,
    flags: u16,
    sequence: u32,
}

fn encode(message: &Message, sequence: u32, datagram: &mut Vec<u8>) {
    let length = u32::try_from(HEADER + message.payload.len()).expect("messages are far smaller");
    datagram.extend(length.to_ne_bytes());
    datagram.extend(message.kind.to_ne_bytes());
    datagram.extend(message.flags.to_ne_bytes());
    datagram.extend(sequence.to_ne_bytes());
    datagram.extend(0u32.to_ne_bytes());
    datagram.extend(&message.payload);
    datagram.resize(datagram.len().next_multiple_of(4), 0);
}

fn decode(mut datagram: &[u8]) -> Result<Vec<(Header, Vec<u8>)>, NetlinkError> {
    let mut messages = Vec::new();
    while datagram.len() >= HEADER {
        let length = usize::try_from(word(datagram, 0)?).map_err(|_| NetlinkError::Malformed)?;
        let message = datagram.get(..length).filter(|_| length >= HEADER).ok_or(NetlinkError::Malformed)?;
        let header =
            Header { kind: half(message, 4)?, flags: half(message, 6)?, sequence: word(message, 8)? };
        messages.push((header, message[HEADER..].to_vec()));
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(messages)
}

/// Nothing is an acknowledgement.
fn error_number(payload: &[u8]) -> Result<Option<io::Error>, NetlinkError> {
    let number = word(payload, 0)?.cast_signed();
    Ok((number != 0).then(|| io::Error::from_raw_os_error(number.wrapping_neg())))
}

fn word(bytes: &[u8], at: usize) -> Result<u32, NetlinkError> {
    let bytes = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map(u32::from_ne_bytes).ok_or(NetlinkError::Malformed)
}

fn half(bytes: &[u8], at: usize) -> Result<u16, NetlinkError> {
    let bytes = bytes.get(at..at + 2).and_then(|bytes| bytes.try_into().ok());
    bytes.map(u16::from_ne_bytes).ok_or(NetlinkError::Malformed)
}
