//! Until when this process may write. A process that was stopped for a while by its machine does not know that its time as
//! leader is over; so it looks at the clock before every write, and not only between two of them.

use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct Tenure(Mutex<Option<Instant>>);

impl Tenure {
    /// We lead until then, unless the Lease is renewed. Without a Lease nobody says this, and there is no end.
    pub(crate) fn lasts_until(&self, end: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|end| end <= Instant::now())
    }
}
