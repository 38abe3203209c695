//! What the transports have in common: many streams over one connection whose peer knows no flow control.
//!
//! A session may hold [`BUDGET`] bytes that arrived and were not read, over all its streams. When that is used up the
//! session stops reading its connection, so the peer is slowed down by TCP, and with it all streams of the session.
//! Where streams belong to users that should not wait for each other (port-forward), a session that cannot go on for
//! [`STALL`] resets the stream that holds the most. Elsewhere (exec) it waits for as long as the reader takes.

mod inbox;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(super) use inbox::Inbox;
pub(super) use stream::{Gone, Item, Outgoing, Ports, Stream};

/// Bytes that one session may hold for its readers.
const BUDGET: usize = 4 * 1024 * 1024;

/// Below the 30 s after which Kubernetes' clients give up on opening a stream.
const STALL: Duration = Duration::from_secs(20);

/// What keeping a piece costs beyond its bytes, so that many small pieces are not free.
const OVERHEAD: usize = 128;

/// What happens to a stream whose reader does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// The others wait with it.
    Endless,
    /// It is reset when it has held up the others for so long.
    Limited(Duration),
}

impl Patience {
    /// For streams of users that should not wait for each other.
    pub(super) const SHARED: Self = Self::Limited(STALL);
}

/// What a session may still hold.
#[derive(Clone)]
pub(super) struct Budget(Arc<Semaphore>);

impl Budget {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(BUDGET)))
    }

    /// Room for a piece of `length` bytes, if there is room now.
    pub(super) fn try_charge(&self, length: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).try_acquire_many_owned(cost(length)).ok()
    }

    /// Room for a piece of `length` bytes, once there is.
    pub(super) async fn charge(&self, length: usize) -> OwnedSemaphorePermit {
        let permit = Arc::clone(&self.0).acquire_many_owned(cost(length)).await;
        permit.expect("the budget is never closed")
    }
}

/// A piece longer than the budget is let through alone: it is in memory already.
fn cost(length: usize) -> u32 {
    u32::try_from((length + OVERHEAD).min(BUDGET)).expect("the budget fits")
}

/// The stream that holds the most of what its session may hold.
pub(super) fn heaviest<K: Copy>(inboxes: impl Iterator<Item = (K, Arc<Inbox>)>) -> Option<(K, Arc<Inbox>)> {
    inboxes.max_by_key(|(_, inbox)| inbox.held())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_pieces_use_up_the_budget_too() {
        let budget = Budget::new();
        let held: Vec<_> = std::iter::from_fn(|| budget.try_charge(0)).collect();
        assert_eq!(held.len(), BUDGET / OVERHEAD);
    }

    #[test]
    fn a_piece_larger_than_the_budget_passes_when_nothing_else_is_held() {
        let budget = Budget::new();
        let whole = budget.try_charge(2 * BUDGET).unwrap();
        assert!(budget.try_charge(0).is_none());
        drop(whole);
        assert!(budget.try_charge(0).is_some());
    }
}
