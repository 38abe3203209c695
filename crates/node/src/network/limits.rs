//! How much is done at once, for one Pod and for all.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Counts what is under way.
#[derive(Debug)]
pub(crate) struct Limits {
    counts: Mutex<HashMap<IpAddr, usize>>,
    all: usize,
    each: usize,
}

/// The right to do one thing; given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    limits: Arc<Limits>,
    client: IpAddr,
}

impl Limits {
    pub(crate) fn new(all: usize, each: usize) -> Arc<Self> {
        Arc::new(Self { counts: Mutex::default(), all, each })
    }

    /// Nothing if too much is under way already.
    pub(crate) fn admit(self: &Arc<Self>, client: IpAddr) -> Option<Permit> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let own = counts.get(&client).copied().unwrap_or_default();
        if counts.values().sum::<usize>() >= self.all || own >= self.each {
            return None;
        }
        *counts.entry(client).or_default() += 1;
        Some(Permit { limits: Arc::clone(self), client })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut counts = self.limits.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_more_than_a_part_and_all_together_no_more_than_all() {
        let limits = Limits::new(512, 64);
        let client = |last: u8| IpAddr::from([10, 1, 0, last]);
        let greedy: Vec<_> = std::iter::from_fn(|| limits.admit(client(1))).collect();
        assert_eq!(greedy.len(), 64);
        let others: Vec<_> = (2..20)
            .flat_map(|last| std::iter::from_fn(|| limits.admit(client(last))).collect::<Vec<_>>())
            .collect();
        assert_eq!(greedy.len() + others.len(), 512);
        drop(greedy);
        assert!(limits.admit(client(1)).is_some());
        drop(others);
        assert!(limits.counts.lock().unwrap().is_empty());
    }
}
