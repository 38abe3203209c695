//! How much of the router one client may hold at a time.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

/// Requests under way, by client.
#[derive(Clone)]
pub(crate) struct Limits {
    most: usize,
    held: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// A request's place, given back when it is dropped.
pub(crate) struct Held {
    limits: Limits,
    client: IpAddr,
}

impl Limits {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, held: Arc::default() }
    }

    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Nothing, where the client holds all that it may.
    pub(crate) fn hold(&self, client: IpAddr) -> Option<Held> {
        let mut held = self.held.lock().expect("nobody panics with it");
        let count = held.entry(client).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Held { limits: self.clone(), client })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = self.limits.held.lock().expect("nobody panics with it");
        if let Some(count) = held.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_holds_so_much_and_leaves_nothing_behind() {
        let limits = Limits::new(2);
        let (one, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let first = limits.hold(one);
        let second = limits.hold(one);
        assert!(first.is_some() && second.is_some() && limits.hold(one).is_none());
        assert!(limits.hold(other).is_some(), "others are not concerned");
        drop(first);
        assert!(limits.hold(one).is_some());
        drop(second);
        assert!(limits.held.lock().expect("free").is_empty());
    }
}
