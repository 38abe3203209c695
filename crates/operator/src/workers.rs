//! Runs controllers: takes keys from their queues and lets them look at those, several at a time, for as long as we lead.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use asb_core::object::Key;
use futures::FutureExt;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::caches::Caches;
use crate::metrics::Metrics;
use crate::queue::{Next, Queue};

/// What looks at the objects of one kind.
pub(crate) trait Controller: Send + Sync + 'static {
    /// As metrics and logs name it.
    const NAME: &'static str;

    fn queue(caches: &Caches) -> &Queue;

    /// Looks at one object and does what it needs now. Never called twice at a time for one key.
    fn reconcile(&self, key: &Key) -> impl Future<Output = Next> + Send;
}

/// The workers of all controllers. They end with it.
pub(crate) struct Crew {
    caches: Arc<Caches>,
    metrics: Arc<Metrics>,
    workers: JoinSet<()>,
    closing: CancellationToken,
}

impl Crew {
    pub(crate) fn new(caches: &Arc<Caches>, metrics: &Arc<Metrics>) -> Self {
        let (caches, metrics) = (Arc::clone(caches), Arc::clone(metrics));
        Self { caches, metrics, workers: JoinSet::new(), closing: CancellationToken::new() }
    }

    pub(crate) fn hire<C: Controller>(&mut self, controller: C, count: usize) {
        let controller = Arc::new(controller);
        for _ in 0..count {
            let (controller, caches) = (Arc::clone(&controller), Arc::clone(&self.caches));
            self.workers.spawn(work(controller, caches, Arc::clone(&self.metrics), self.closing.clone()));
        }
    }

    /// Stops everything where it is. What was under way is looked at again by the next crew.
    pub(crate) async fn dismiss(mut self) {
        self.workers.shutdown().await;
    }

    /// Begins nothing new, and waits a while for what was begun.
    pub(crate) async fn finish(mut self, patience: Duration) {
        self.closing.cancel();
        let finished = async { while self.workers.join_next().await.is_some() {} };
        if tokio::time::timeout(patience, finished).await.is_err() {
            tracing::warn!("gave up waiting for work under way; it is done again by whoever leads next");
        }
    }
}

async fn work<C: Controller>(
    controller: Arc<C>,
    caches: Arc<Caches>,
    metrics: Arc<Metrics>,
    closing: CancellationToken,
) {
    let queue = C::queue(&caches);
    loop {
        let key = tokio::select! {
            biased;
            () = closing.cancelled() => return,
            key = queue.next() => key,
        };
        let started = Instant::now();
        let outcome = AssertUnwindSafe(controller.reconcile(&key)).catch_unwind().await;
        let next = outcome.unwrap_or_else(|_| {
            tracing::error!(controller = C::NAME, object = %key, "a bug stopped this look at the object; trying again later");
            Next::Retry
        });
        metrics.looked(C::NAME, next, started.elapsed());
        queue.done(&key, next);
    }
}
