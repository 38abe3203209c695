//! The recent past: every event after some revision, in order and without gaps, up to a number of events and to what they
//! take of memory, whichever is reached first.

use std::collections::VecDeque;

use thiserror::Error;

use super::{Event, Revision};

/// What all kept events may take together, about. A client that writes large objects shortens the past, and fills nothing.
const MOST_BYTES: usize = 128 * 1024 * 1024;

/// The past that was asked for is forgotten. A client lists again and goes on from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("revision {asked} is too old: the history begins after {oldest}")]
pub struct Expired {
    pub asked: Revision,
    pub oldest: Revision,
}

pub(super) struct History {
    /// Revisions are consecutive, so the place of an event follows from its revision.
    events: VecDeque<Kept>,
    /// Everything after this is in `events`.
    floor: Revision,
    limit: usize,
    bytes: usize,
    most_bytes: usize,
}

struct Kept {
    event: Event,
    bytes: usize,
}

impl History {
    /// An empty history of a store that is at `revision`.
    pub(super) fn new(revision: Revision, limit: usize) -> Self {
        let (events, limit) = (VecDeque::new(), limit.max(1));
        Self { events, floor: revision, limit, bytes: 0, most_bytes: MOST_BYTES }
    }

    pub(super) fn push(&mut self, event: Event) {
        let bytes = taken(&event);
        self.bytes += bytes;
        self.events.push_back(Kept { event, bytes });
        // The latest stays, however large, for those who wait for it.
        while self.events.len() > 1 && (self.events.len() > self.limit || self.bytes > self.most_bytes) {
            self.forget();
        }
    }

    fn forget(&mut self) {
        if let Some(forgotten) = self.events.pop_front() {
            self.bytes -= forgotten.bytes;
            self.floor = forgotten.event.revision();
        }
    }

    /// Events after a revision. One that lies in the future is fine: there are none yet.
    pub(super) fn after(
        &self,
        revision: Revision,
    ) -> Result<impl DoubleEndedIterator<Item = &Event>, Expired> {
        if revision < self.floor {
            return Err(Expired { asked: revision, oldest: self.floor });
        }
        let skipped = usize::try_from(revision.0 - self.floor.0).unwrap_or(usize::MAX).min(self.events.len());
        Ok(self.events.range(skipped..).map(|kept| &kept.event))
    }
}

/// About what an event holds in memory. What it replaced may be held by nothing else any more.
fn taken(event: &Event) -> usize {
    event.entry.weight() + event.previous.as_ref().map_or(0, |previous| previous.weight())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{EventKind, Key, Written};
    use super::*;

    fn event(revision: u64) -> Event {
        let entry = Written::new(Key::new("pods", None, "a"), Revision(revision), json!({})).entry;
        Event { kind: EventKind::Modified, entry, previous: None }
    }

    fn after(history: &History, revision: u64) -> Result<Vec<u64>, Expired> {
        Ok(history.after(Revision(revision))?.map(|event| event.revision().0).collect())
    }

    #[test]
    fn large_events_shorten_the_past_and_the_latest_stays() {
        let large = |revision| {
            let value = json!({"data": "x".repeat(1000)});
            let entry = Written::new(Key::new("pods", None, "a"), Revision(revision), value).entry;
            Event { kind: EventKind::Modified, entry, previous: None }
        };
        let mut history = History { most_bytes: 3000, ..History::new(Revision(0), 100) };
        (1..=10).for_each(|revision| history.push(large(revision)));
        assert_eq!(after(&history, 8).unwrap(), [9, 10]);
        assert!(after(&history, 7).is_err());
        history.most_bytes = 1;
        history.push(large(11));
        assert_eq!(after(&history, 10).unwrap(), [11]);
        assert_eq!(history.bytes, history.events[0].bytes);
    }

    #[test]
    fn what_is_kept_is_replayed_and_what_is_not_is_expired() {
        let mut history = History::new(Revision(10), 3);
        assert_eq!(after(&history, 10).unwrap(), [0_u64; 0]);
        (11..=15).for_each(|revision| history.push(event(revision)));
        assert_eq!(after(&history, 12).unwrap(), [13, 14, 15]);
        assert_eq!(after(&history, 14).unwrap(), [15]);
        assert_eq!(after(&history, 99).unwrap(), [0_u64; 0]);
        assert_eq!(after(&history, 11), Err(Expired { asked: Revision(11), oldest: Revision(12) }));
    }
}
