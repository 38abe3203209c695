//! What arrived for one stream and was not read. Shared by the session, which fills it, and the stream, which reads
//! it; behind a lock and not in a channel, because the session must be able to throw away what nobody reads.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes};
use tokio::io::ReadBuf;
use tokio::sync::OwnedSemaphorePermit;

#[derive(Default)]
pub(crate) struct Inbox(Mutex<State>);

#[derive(Default)]
struct State {
    pieces: VecDeque<Piece>,
    held: usize,
    end: End,
    reader: Option<Waker>,
}

struct Piece {
    bytes: Bytes,
    /// Goes back to the session's budget when the piece was read.
    _room: OwnedSemaphorePermit,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum End {
    #[default]
    Open,
    /// The peer said all it had to say.
    Finished,
    /// The peer, or the session, gave the stream up.
    Reset,
}

impl Inbox {
    /// Bytes after the end are dropped.
    pub(crate) fn push(&self, bytes: Bytes, room: OwnedSemaphorePermit) {
        let mut state = self.lock();
        if state.end == End::Open && !bytes.is_empty() {
            state.held += bytes.len();
            state.pieces.push_back(Piece { bytes, _room: room });
            state.wake();
        }
    }

    /// What arrived can still be read.
    pub(crate) fn finish(&self) {
        let mut state = self.lock();
        if state.end == End::Open {
            state.end = End::Finished;
        }
        state.wake();
    }

    /// What arrived is thrown away.
    pub(crate) fn reset(&self) {
        let mut state = self.lock();
        state.end = End::Reset;
        state.pieces.clear();
        state.held = 0;
        state.wake();
    }

    /// The connection is gone: what arrived can still be read, and a stream that was not finished ends in an error.
    pub(crate) fn lose(&self) {
        let mut state = self.lock();
        if state.end == End::Open {
            state.end = End::Reset;
        }
        state.wake();
    }

    pub(crate) fn held(&self) -> usize {
        self.lock().held
    }

    pub(crate) fn is_reset(&self) -> bool {
        self.lock().end == End::Reset
    }

    pub(crate) fn poll_read(
        &self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<(), Error>> {
        let mut state = self.lock();
        if state.pieces.is_empty() {
            return match state.end {
                End::Finished => Poll::Ready(Ok(())),
                End::Reset => Poll::Ready(Err(ErrorKind::ConnectionReset.into())),
                End::Open => {
                    state.reader = Some(context.waker().clone());
                    Poll::Pending
                }
            };
        }
        state.read(buffer);
        Poll::Ready(Ok(()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    fn read(&mut self, buffer: &mut ReadBuf<'_>) {
        while let Some(piece) = self.pieces.front_mut() {
            let taken = piece.bytes.len().min(buffer.remaining());
            buffer.put_slice(&piece.bytes[..taken]);
            piece.bytes.advance(taken);
            self.held -= taken;
            if !piece.bytes.is_empty() {
                break;
            }
            self.pieces.pop_front();
        }
    }
}
