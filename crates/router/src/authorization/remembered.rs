//! What was found out about a token or a user, for a while.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};

const REMEMBERED: Duration = Duration::from_secs(30);
const MOST_REMEMBERED: usize = 2048;

/// By which a token is known without being kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Digest([u8; SHA256_OUTPUT_LEN]);

impl Digest {
    pub(super) fn of(token: &str) -> Self {
        let digest = digest(&SHA256, token.as_bytes());
        Self(digest.as_ref().try_into().expect("it has that length"))
    }
}

/// Answers, each for a while. Bounded: when it is full, what is old goes, and if nothing is, everything.
pub(super) struct Remembered<K, V>(Mutex<HashMap<K, (V, Instant)>>);

impl<K, V> Default for Remembered<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> Remembered<K, V> {
    pub(super) fn get(&self, key: &K) -> Option<V> {
        let known = self.0.lock().expect("nobody panics with it");
        known.get(key).filter(|(_, since)| since.elapsed() < REMEMBERED).map(|(value, _)| value.clone())
    }

    pub(super) fn put(&self, key: K, value: V) {
        let mut known = self.0.lock().expect("nobody panics with it");
        if known.len() >= MOST_REMEMBERED {
            known.retain(|_, (_, since)| since.elapsed() < REMEMBERED);
        }
        if known.len() >= MOST_REMEMBERED {
            known.clear();
        }
        known.insert(key, (value, Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_remembered_than_there_is_room_for() {
        let remembered = Remembered::default();
        for key in 0..MOST_REMEMBERED * 3 {
            remembered.put(key, ());
        }
        assert!(remembered.0.lock().expect("free").len() <= MOST_REMEMBERED);
        assert!(remembered.get(&(MOST_REMEMBERED * 3 - 1)).is_some());
    }
}
