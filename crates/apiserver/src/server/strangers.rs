//! Connections of clients that have not said who they are. Whoever has a certificate or a token is known with the first
//! request; so when there are too many who are not, the one that has been silent for longest makes room.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio_util::sync::CancellationToken;

use super::limits::{Permit, Share};
use crate::status::Status;

/// The connections of strangers, in the order in which they came.
pub(super) struct Strangers {
    most: usize,
    connections: Mutex<Connections>,
}

#[derive(Default)]
struct Connections {
    next: u64,
    open: BTreeMap<u64, CancellationToken>,
}

/// One connection, until it is known whose it is.
pub(super) struct Stranger {
    number: u64,
    strangers: Arc<Strangers>,
    /// Ends the connection.
    pub(super) end: CancellationToken,
    /// The place that its user's connections take, once that is known.
    place: OnceLock<Permit>,
}

impl Strangers {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, connections: Mutex::default() })
    }

    /// Takes in a new one.
    pub(super) fn admit(self: &Arc<Self>) -> Stranger {
        let end = CancellationToken::new();
        let mut connections = self.connections();
        let number = connections.next;
        connections.next += 1;
        connections.open.insert(number, end.clone());
        if connections.open.len() > self.most {
            connections.close_oldest();
        }
        Stranger { number, strangers: Arc::clone(self), end, place: OnceLock::new() }
    }

    pub(super) fn close_oldest(&self) {
        self.connections().close_oldest();
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connections {
    fn close_oldest(&mut self) {
        if let Some((_, end)) = self.open.pop_first() {
            end.cancel();
        }
    }
}

impl Stranger {
    /// Is a stranger no more, but one of the connections of a user, who may have so many and no more: one too many stays
    /// a stranger.
    pub(super) fn introduce(&self, share: &Arc<Share>) -> Result<(), Status> {
        if self.place.get().is_some() {
            return Ok(());
        }
        let place = share.connection()?;
        self.strangers.connections().open.remove(&self.number);
        // Of two requests at once, one is enough.
        let _ = self.place.set(place);
        Ok(())
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.strangers.connections().open.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::security::authentication::User;
    use crate::server::limits::Limits;

    #[test]
    fn the_oldest_stranger_makes_room_and_a_known_client_stays() {
        let (strangers, limits) = (Strangers::new(2), Limits::default());
        let [known, first, second] = [(); 3].map(|()| {
            let stranger = strangers.admit();
            if strangers.connections().next == 1 {
                stranger.introduce(&limits.share(&User::new("somebody", &[]))).unwrap();
            }
            stranger
        });
        let third = strangers.admit();
        let ended = [&known, &first, &second, &third].map(|stranger| stranger.end.is_cancelled());
        assert_eq!(ended, [false, true, false, false]);
    }

    #[test]
    fn one_who_has_left_makes_room_too() {
        let strangers = Strangers::new(1);
        drop(strangers.admit());
        let stays = strangers.admit();
        assert!(!stays.end.is_cancelled());
        strangers.close_oldest();
        assert!(stays.end.is_cancelled());
    }
}
