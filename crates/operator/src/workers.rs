//! Runs a controller: takes keys from its queue and lets it look at them, several at a time, for as long as we lead.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use asb_core::object::Key;
use futures::FutureExt;
use tokio::task::JoinSet;

use crate::caches::Caches;
use crate::queue::{Next, Queue};

/// What looks at the objects of one kind.
pub(crate) trait Controller: Send + Sync + 'static {
    /// As metrics and logs name it.
    const NAME: &'static str;

    fn queue(caches: &Caches) -> &Queue;

    /// Looks at one object and does what it needs now. Never called twice at a time for one key.
    fn reconcile(&self, key: &Key) -> impl Future<Output = Next> + Send;
}

/// Starts the workers of a controller. They end with the set.
pub(crate) fn start<C: Controller>(controller: &Arc<C>, caches: &Arc<Caches>, count: usize, workers: &mut JoinSet<()>) {
    for _ in 0..count {
        workers.spawn(work(Arc::clone(controller), Arc::clone(caches)));
    }
}

async fn work<C: Controller>(controller: Arc<C>, caches: Arc<Caches>) {
    let queue = C::queue(&caches);
    loop {
        let key = queue.next().await;
        let outcome = AssertUnwindSafe(controller.reconcile(&key)).catch_unwind().await;
        let next = outcome.unwrap_or_else(|_| {
            tracing::error!(controller = C::NAME, object = %key, "a bug stopped this look at the object; trying again later");
            Next::Retry
        });
        queue.done(&key, next);
    }
}
