//! The end of a process's output, for those who come late or again. Bytes have offsets from the first that was written, counted
//! over all streams. Only so many are kept; whoever asks for older ones is told which are lost. Pure.

use std::collections::VecDeque;

use crate::wire::processes::{OutputKept, Stream};

/// Pieces smaller than this are put together, so that a process that writes single bytes does not cost more than they do.
const PIECE: usize = 16 * 1024;

pub(crate) struct Replay {
    pieces: VecDeque<Piece>,
    kept: usize,
    capacity: usize,
    end: u64,
}

struct Piece {
    offset: u64,
    stream: Stream,
    bytes: Vec<u8>,
}

/// What is there from an offset on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing yet.
    Nothing,
    /// What was asked for is gone; from `to` on there is something.
    Lost {
        from: u64,
        to: u64,
    },
    Data {
        offset: u64,
        stream: Stream,
        bytes: Vec<u8>,
    },
}

impl Replay {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { pieces: VecDeque::new(), kept: 0, capacity: capacity.max(1), end: 0 }
    }

    pub(crate) fn range(&self) -> OutputKept {
        OutputKept { from: self.begin(), to: self.end }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many bytes can come before one is dropped that is not before this offset.
    pub(crate) fn room_after(&self, offset: u64) -> usize {
        let wanted = self.end.saturating_sub(offset);
        self.capacity.saturating_sub(usize::try_from(wanted).unwrap_or(usize::MAX))
    }

    pub(crate) fn push(&mut self, stream: Stream, bytes: &[u8]) {
        for part in bytes.chunks(PIECE) {
            self.push_part(stream, part);
        }
        while self.kept > self.capacity {
            self.forget();
        }
    }

    /// At most `most` bytes of one stream from an offset on. An offset beyond the end waits for that to come.
    pub(crate) fn read(&self, from: u64, most: usize) -> Found {
        if from < self.begin() {
            return Found::Lost { from, to: self.begin() };
        }
        let after = self.pieces.partition_point(|piece| piece.end() <= from);
        let Some(piece) = self.pieces.get(after) else { return Found::Nothing };
        let skipped = usize::try_from(from - piece.offset).unwrap_or(usize::MAX);
        let bytes = &piece.bytes[skipped.min(piece.bytes.len())..];
        let bytes = bytes[..bytes.len().min(most)].to_vec();
        Found::Data { offset: from, stream: piece.stream, bytes }
    }

    fn begin(&self) -> u64 {
        self.pieces.front().map_or(self.end, |piece| piece.offset)
    }

    fn push_part(&mut self, stream: Stream, bytes: &[u8]) {
        let joins = |piece: &Piece| piece.stream == stream && piece.bytes.len() + bytes.len() <= PIECE;
        match self.pieces.back_mut().filter(|piece| joins(piece)) {
            Some(piece) => piece.bytes.extend_from_slice(bytes),
            None => self.pieces.push_back(Piece { offset: self.end, stream, bytes: bytes.to_vec() }),
        }
        self.kept += bytes.len();
        self.end += bytes.len() as u64;
    }

    /// Drops the oldest bytes that are too many.
    fn forget(&mut self) {
        let excess = self.kept - self.capacity;
        let Some(first) = self.pieces.front_mut() else { return };
        if first.bytes.len() <= excess {
            self.kept -= first.bytes.len();
            self.pieces.pop_front();
        } else {
            first.bytes.drain(..excess);
            first.offset += excess as u64;
            self.kept -= excess;
        }
    }
}

impl Piece {
    fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn data(offset: u64, stream: Stream, bytes: &[u8]) -> Found {
        Found::Data { offset, stream, bytes: bytes.to_vec() }
    }

    #[test]
    fn output_is_read_from_any_offset() {
        let mut replay = Replay::new(100);
        replay.push(Stream::Stdout, b"hello ");
        replay.push(Stream::Stdout, b"world");
        replay.push(Stream::Stderr, b"oh");
        assert_eq!(replay.read(0, 99), data(0, Stream::Stdout, b"hello world"));
        assert_eq!(replay.read(6, 3), data(6, Stream::Stdout, b"wor"));
        assert_eq!(replay.read(11, 99), data(11, Stream::Stderr, b"oh"));
        assert_eq!(replay.read(13, 99), Found::Nothing);
        assert_eq!(replay.read(99, 99), Found::Nothing);
    }

    #[test]
    fn what_was_too_much_is_lost_and_said_to_be() {
        let mut replay = Replay::new(4);
        replay.push(Stream::Stdout, b"abc");
        replay.push(Stream::Stderr, b"def");
        assert_eq!(replay.read(0, 99), Found::Lost { from: 0, to: 2 });
        assert_eq!(replay.read(2, 99), data(2, Stream::Stdout, b"c"));
        assert_eq!(replay.range(), OutputKept { from: 2, to: 6 });
    }

    proptest! {
        /// Compared with all of it, kept in one piece.
        #[test]
        fn it_is_the_end_of_what_was_written(
            writes in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 0..40)), 0..30),
            capacity in 1_usize..100,
            most in 1_usize..50,
        ) {
            let mut replay = Replay::new(capacity);
            let mut model: Vec<(Stream, u8)> = Vec::new();
            for (error, bytes) in &writes {
                let stream = if *error { Stream::Stderr } else { Stream::Stdout };
                replay.push(stream, bytes);
                model.extend(bytes.iter().map(|byte| (stream, *byte)));
            }
            let begin = model.len().saturating_sub(capacity);
            prop_assert_eq!(replay.range(), OutputKept { from: begin as u64, to: model.len() as u64 });
            let mut at = 0;
            let mut seen = Vec::new();
            loop {
                match replay.read(at, most) {
                    Found::Nothing => break,
                    Found::Lost { from, to } => {
                        prop_assert_eq!((from, to), (0, begin as u64));
                        at = to;
                    }
                    Found::Data { offset, stream, bytes } => {
                        prop_assert_eq!(offset, at);
                        prop_assert!(!bytes.is_empty() && bytes.len() <= most);
                        at += bytes.len() as u64;
                        seen.extend(bytes.into_iter().map(|byte| (stream, byte)));
                    }
                }
            }
            prop_assert_eq!(&seen, &model[begin..]);
        }

        #[test]
        fn what_there_is_room_for_drops_nothing_that_is_wanted(
            before in 0_usize..300, capacity in 1_usize..100, offset in 0_u64..300,
        ) {
            let mut replay = Replay::new(capacity);
            replay.push(Stream::Stdout, &vec![0; before]);
            let first = replay.range().from.max(offset.min(replay.range().to));
            replay.push(Stream::Stderr, &vec![0; replay.room_after(first)]);
            prop_assert!(replay.range().from <= first);
            replay.push(Stream::Stdout, b"x");
            prop_assert!(replay.range().from > first || first == replay.range().to - 1);
        }

        #[test]
        fn single_bytes_cost_little_more_than_themselves(count in 1_usize..2000) {
            let mut replay = Replay::new(1000);
            (0..count).for_each(|_| replay.push(Stream::Stdout, b"x"));
            prop_assert!(replay.pieces.len() <= 2);
        }
    }
}
