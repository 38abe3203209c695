//! Waits for what happens outside of any stream that could be read.

use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

/// Looks until there is something, and fails when that takes too long.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}
