//! Reads the output of a process at its own pace. Whoever is too slow loses what is no longer kept, and is told, unless the
//! process was started to wait for its reader.

use std::rc::Rc;

use super::process::Process;
use super::replay::Found;
use crate::wire::processes::{Exit, Stream};

pub(crate) struct Reader {
    process: Rc<Process>,
    position: u64,
    taking: Taking,
}

/// When something counts as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taking {
    /// As soon as it is sent.
    Sent,
    /// When somebody asks for what follows it, and so has it.
    Asked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Data { offset: u64, stream: Stream, bytes: Vec<u8> },
    Lost { from: u64, to: u64 },
    End(Exit),
}

impl Reader {
    pub(crate) fn from(process: Rc<Process>, position: u64, taking: Taking) -> Self {
        process.take(position);
        Self { process, position, taking }
    }

    /// Goes to the first byte that is there, if it is behind that, and says where it is.
    pub(crate) fn skip_lost(&mut self) -> u64 {
        self.position = self.position.max(self.process.replay.borrow().range().from);
        self.position
    }

    /// Waits for the next. At most so many bytes.
    pub(crate) async fn next(&mut self, most: usize) -> Next {
        let process = self.process.clone();
        let next = process.until(|| self.now(most)).await;
        self.advance(&next);
        next
    }

    /// What is there already.
    pub(crate) fn try_next(&mut self, most: usize) -> Option<Next> {
        let next = self.now(most)?;
        self.advance(&next);
        Some(next)
    }

    fn now(&self, most: usize) -> Option<Next> {
        match self.process.replay.borrow().read(self.position, most) {
            Found::Data { offset, stream, bytes } => Some(Next::Data { offset, stream, bytes }),
            Found::Lost { from, to } => Some(Next::Lost { from, to }),
            Found::Nothing => self.process.exit().map(Next::End),
        }
    }

    fn advance(&mut self, next: &Next) {
        match next {
            Next::Data { offset, bytes, .. } => self.position = offset + bytes.len() as u64,
            Next::Lost { to, .. } => self.position = *to,
            Next::End(_) => {}
        }
        if self.taking == Taking::Sent {
            self.process.take(self.position);
        }
    }
}
