//! One client of a shim. It asks one thing at a time: the next request is read when the last one was answered.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::event::PollFlags;
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use super::plan::VERSION;
use super::protocol::{Answer, Inbox, Message, Request, encode, send};

pub(super) struct Connection {
    stream: UnixStream,
    inbox: Inbox,
    /// What is left to send, with the descriptors that go with its first byte.
    outbox: Vec<u8>,
    descriptors: Vec<OwnedFd>,
    turn: Turn,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Nothing but the greeting is understood yet.
    Greeting,
    Theirs,
    Ours,
    /// Nothing more is said after this answer.
    Last,
}

impl Connection {
    /// Only for those who are who we are.
    pub(super) fn new(stream: UnixStream) -> io::Result<Self> {
        if socket_peercred(&stream)?.uid != geteuid() {
            return Err(ErrorKind::PermissionDenied.into());
        }
        stream.set_nonblocking(true)?;
        let inbox = Inbox::default();
        Ok(Self { stream, inbox, outbox: Vec::new(), descriptors: Vec::new(), turn: Turn::Greeting })
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    pub(super) fn interest(&self) -> PollFlags {
        match self.turn {
            Turn::Greeting | Turn::Theirs => PollFlags::IN,
            // Who hangs up is noticed in any case.
            _ if self.outbox.is_empty() => PollFlags::RDHUP,
            _ => PollFlags::OUT,
        }
    }

    /// Sends and receives what is possible. An error is the end of the connection.
    pub(super) fn progress(&mut self) -> io::Result<Option<Message<Request>>> {
        self.flush()?;
        if !matches!(self.turn, Turn::Greeting | Turn::Theirs) {
            // Woken although there was nothing to send: they are gone.
            return if self.outbox.is_empty() { Err(ErrorKind::ConnectionReset.into()) } else { Ok(None) };
        }
        match self.inbox.receive(&self.stream) {
            Ok(true) => {}
            Ok(false) => return Err(ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
        let message = self.inbox.take::<Request>()?;
        if let Some(message) = &message {
            self.turn = match (self.turn, &message.body) {
                (Turn::Greeting, Request::Hello { version: VERSION }) | (Turn::Theirs, _) => Turn::Ours,
                (_, Request::Hello { .. }) => Turn::Last,
                _ => return Err(ErrorKind::InvalidData.into()),
            };
        }
        Ok(message)
    }

    pub(super) fn answer(&mut self, answer: &Answer, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        self.outbox = encode(answer, descriptors.len())?;
        self.descriptors = descriptors;
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.outbox.is_empty() {
            let borrowed: Vec<BorrowedFd<'_>> = self.descriptors.iter().map(AsFd::as_fd).collect();
            match send(&self.stream, &self.outbox, &borrowed) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                sent => {
                    let sent = sent?;
                    self.outbox.drain(..sent);
                    self.descriptors.clear();
                }
            }
            if self.outbox.is_empty() {
                self.outbox = Vec::new();
                self.answered()?;
            }
        }
        Ok(())
    }

    fn answered(&mut self) -> io::Result<()> {
        if self.turn == Turn::Last {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        self.turn = Turn::Theirs;
        Ok(())
    }
}
