//! Work that nobody waits for, and that ends with whoever sent it.

use std::future::Future;
use std::sync::{Mutex, PoisonError};

use tokio::task::JoinSet;

#[derive(Debug, Default)]
pub(crate) struct Errands(Mutex<JoinSet<()>>);

impl Errands {
    pub(crate) fn send(&self, errand: impl Future<Output = ()> + Send + 'static) {
        let mut errands = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while errands.try_join_next().is_some() {}
        errands.spawn(errand);
    }

    /// Waits for all that were sent.
    pub(crate) async fn done(&self) {
        let mut under_way = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        while under_way.join_next().await.is_some() {}
    }

    /// Calls all of them back. What they asked for may still happen.
    pub(crate) async fn call_back(&self) {
        let mut under_way = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        under_way.shutdown().await;
    }
}
