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
}
