//! The recent past: every event after some revision, in order and without gaps, up to a limit.

use std::collections::VecDeque;

use thiserror::Error;

use super::{Event, Revision};

/// The past that was asked for is forgotten. A client lists again and goes on from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("revision {asked} is too old: the history begins after {oldest}")]
pub struct Expired {
    pub asked: Revision,
    pub oldest: Revision,
}

pub(super) struct History {
    /// Revisions are consecutive, so the place of an event follows from its revision.
    events: VecDeque<Event>,
    /// Everything after this is in `events`.
    floor: Revision,
    limit: usize,
}

impl History {
    /// An empty history of a store that is at `revision`.
    pub(super) fn new(revision: Revision, limit: usize) -> Self {
        Self { events: VecDeque::new(), floor: revision, limit: limit.max(1) }
    }

    pub(super) fn push(&mut self, event: Event) {
        if self.events.len() == self.limit {
            self.floor = self.events.pop_front().map_or(self.floor, |forgotten| forgotten.revision());
        }
        self.events.push_back(event);
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
        Ok(self.events.range(skipped..))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Entry, EventKind, Key};
    use super::*;

    fn event(revision: u64) -> Event {
        let entry = Entry::new(Key::new("pods", None, "a"), Revision(revision), json!({}));
        Event { kind: EventKind::Modified, entry, previous: None }
    }

    fn after(history: &History, revision: u64) -> Result<Vec<u64>, Expired> {
        Ok(history.after(Revision(revision))?.map(|event| event.revision().0).collect())
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
