//! Which streams of a session are open, in which direction, and what to tell the peer about them. Pure bookkeeping;
//! `engine` does the talking.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::super::multiplex::{Gone, Inbox, Item, Outgoing, heaviest};
use super::super::frame::{Frame, Reset, StreamId};
use super::super::headers::Headers;

/// How many streams a peer may have open at once.
pub(super) const MOST: usize = 512;

#[derive(Default)]
pub(super) struct Streams {
    open: HashMap<StreamId, Entry>,
    /// The highest number that the peer has used. Numbers only grow.
    newest: u32,
}

struct Entry {
    inbox: Arc<Inbox>,
    /// Whether the peer may still write.
    incoming: bool,
    /// Whether we may still write.
    outgoing: bool,
    accepted: bool,
    /// Items of the stream that were turned into frames.
    sent: u64,
    /// After how many items nobody holds the stream any more.
    gone_after: Option<u64>,
}

impl Streams {
    /// Opens what the peer asks for, or says why not.
    pub(super) fn open(
        &mut self,
        id: StreamId,
        fin: bool,
        unidirectional: bool,
    ) -> Result<Arc<Inbox>, Reset> {
        if !id.is_from_client() || id.number() <= self.newest {
            return Err(Reset::PROTOCOL_ERROR);
        }
        self.newest = id.number();
        if self.open.len() >= MOST {
            return Err(Reset::REFUSED);
        }
        let inbox = Arc::new(Inbox::default());
        let entry = Entry {
            inbox: Arc::clone(&inbox),
            incoming: true,
            outgoing: !unidirectional,
            accepted: false,
            sent: 0,
            gone_after: None,
        };
        self.open.insert(id, entry);
        if fin {
            self.finished(id);
        }
        Ok(inbox)
    }

    pub(super) fn newest(&self) -> u32 {
        self.newest
    }

    /// Where bytes for a stream go. Nothing for one that is not, or no longer, known: its bytes were on their way
    /// when it was reset, and nobody waits for them.
    pub(super) fn inbox(&self, id: StreamId) -> Option<Arc<Inbox>> {
        self.open.get(&id).filter(|entry| entry.incoming).map(|entry| Arc::clone(&entry.inbox))
    }

    /// The peer half-closed a stream.
    pub(super) fn finished(&mut self, id: StreamId) {
        if let Some(entry) = self.open.get_mut(&id) {
            entry.inbox.finish();
            entry.incoming = false;
            self.forget_if_closed(id);
        }
    }

    /// The peer reset a stream.
    pub(super) fn reset(&mut self, id: StreamId) {
        if let Some(entry) = self.open.remove(&id) {
            entry.inbox.reset();
        }
    }

    /// The connection is gone.
    pub(super) fn lose(&mut self) {
        self.open.drain().for_each(|(_, entry)| entry.inbox.lose());
    }

    /// The frames that tell the peer what a stream wrote.
    pub(super) fn send(&mut self, outgoing: Outgoing<StreamId>) -> Vec<Frame> {
        let id = outgoing.stream;
        let Some(entry) = self.open.get_mut(&id) else { return Vec::new() };
        entry.sent += 1;
        let frame = entry.frame(id, outgoing.item);
        self.forget_if_closed(id);
        frame.into_iter().chain(self.settle(id)).collect()
    }

    /// Nobody holds a stream any more.
    pub(super) fn gone(&mut self, gone: &Gone<StreamId>) -> Option<Frame> {
        self.open.get_mut(&gone.stream)?.gone_after = Some(gone.sent);
        self.settle(gone.stream)
    }

    /// Gives up the stream that holds the most, and tells the peer.
    pub(super) fn evict(&mut self) -> Option<Frame> {
        let inboxes = self.open.iter().map(|(id, entry)| (*id, Arc::clone(&entry.inbox)));
        let (stream, _) = heaviest(inboxes)?;
        self.reset(stream);
        Some(Frame::RstStream { stream, reset: Reset::FLOW_CONTROL })
    }

    /// A stream that nobody holds is reset once everything it wrote has been sent.
    fn settle(&mut self, id: StreamId) -> Option<Frame> {
        let entry = self.open.get(&id).filter(|entry| entry.gone_after == Some(entry.sent))?;
        let reset = if entry.accepted { Reset::CANCEL } else { Reset::REFUSED };
        self.reset(id);
        Some(Frame::RstStream { stream: id, reset })
    }

    fn forget_if_closed(&mut self, id: StreamId) {
        if self.open.get(&id).is_some_and(|entry| !entry.incoming && !entry.outgoing && entry.accepted) {
            self.open.remove(&id);
        }
    }
}

impl Entry {
    /// Nothing for what a one-way stream or one that has ended cannot say.
    fn frame(&mut self, stream: StreamId, item: Item) -> Option<Frame> {
        match item {
            Item::Accept => {
                self.accepted = true;
                Some(Frame::SynReply { stream, headers: Headers::default(), fin: !self.outgoing })
            }
            _ if !self.outgoing => None,
            Item::Data(bytes) => Some(Frame::Data { stream, bytes, fin: false }),
            Item::Finish => {
                self.outgoing = false;
                Some(Frame::Data { stream, bytes: bytes::Bytes::new(), fin: true })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> StreamId {
        StreamId::new(number).unwrap()
    }

    fn send(streams: &mut Streams, item: Item) -> Vec<Frame> {
        streams.send(Outgoing { stream: id(1), item })
    }

    fn reset(reset: Reset) -> Frame {
        Frame::RstStream { stream: id(1), reset }
    }

    #[test]
    fn numbers_must_grow_and_be_odd() {
        let mut streams = Streams::default();
        assert!(streams.open(id(3), false, false).is_ok());
        for number in [1, 2, 3, 4] {
            assert_eq!(streams.open(id(number), false, false).err(), Some(Reset::PROTOCOL_ERROR));
        }
    }

    #[test]
    fn more_streams_than_allowed_are_refused() {
        let mut streams = Streams::default();
        let numbers = (1..).step_by(2).map(id);
        let refused =
            numbers.take(MOST + 1).find_map(|id| streams.open(id, false, false).err().map(|it| (id, it)));
        assert_eq!(refused, Some((id(u32::try_from(MOST).unwrap() * 2 + 1), Reset::REFUSED)));
    }

    #[test]
    fn a_stream_that_both_sides_closed_is_forgotten_without_a_word() {
        let mut streams = Streams::default();
        streams.open(id(1), true, false).unwrap();
        send(&mut streams, Item::Accept);
        assert_eq!(send(&mut streams, Item::Finish).len(), 1);
        assert!(streams.open.is_empty());
        assert_eq!(streams.gone(&Gone { stream: id(1), sent: 2 }), None);
    }

    #[test]
    fn a_dropped_stream_is_reset_only_after_what_it_wrote() {
        let mut streams = Streams::default();
        streams.open(id(1), false, false).unwrap();
        send(&mut streams, Item::Accept);
        assert_eq!(streams.gone(&Gone { stream: id(1), sent: 2 }), None);
        let last = send(&mut streams, Item::Data("x".into()));
        assert_eq!(last.last(), Some(&reset(Reset::CANCEL)));
        assert!(streams.open.is_empty());
    }

    #[test]
    fn a_stream_dropped_unanswered_is_refused() {
        let mut streams = Streams::default();
        streams.open(id(1), true, false).unwrap();
        assert_eq!(streams.gone(&Gone { stream: id(1), sent: 0 }), Some(reset(Reset::REFUSED)));
    }
}
