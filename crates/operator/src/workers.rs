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
use tracing::Instrument;

use crate::caches::Caches;
use crate::errands::Errands;
use crate::metrics::Metrics;
use crate::queue::{Next, Queue};
use crate::spans::Look;
use crate::world::Held;

/// What looks at the objects of one kind.
pub(crate) trait Controller: Send + Sync + 'static {
    /// What it looks at.
    type Object: Held;

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
    /// What the workers sent on its way without waiting for it.
    pub(crate) errands: Arc<Errands>,
    closing: CancellationToken,
}

impl Crew {
    pub(crate) fn new(caches: &Arc<Caches>, metrics: &Arc<Metrics>) -> Self {
        let (caches, metrics) = (Arc::clone(caches), Arc::clone(metrics));
        let (workers, errands) = (JoinSet::new(), Arc::default());
        Self { caches, metrics, workers, errands, closing: CancellationToken::new() }
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
        self.errands.call_back().await;
    }

    /// Begins nothing new, and waits a while for what was begun.
    pub(crate) async fn finish(mut self, patience: Duration) {
        self.closing.cancel();
        let finished = async {
            while self.workers.join_next().await.is_some() {}
            self.errands.done().await;
        };
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
        let look = Look::at::<C::Object>(&key, &caches);
        let reconciled = AssertUnwindSafe(controller.reconcile(&key)).catch_unwind();
        let next = reconciled.instrument(look.span()).await.unwrap_or_else(|_| {
            let _in_trace = look.span().entered();
            tracing::error!(controller = C::NAME, object = %key, "a bug stopped this look at the object; trying again later");
            Next::Retry
        });
        look.end(next);
        metrics.looked(C::NAME, next, started.elapsed());
        queue.done(&key, next);
    }
}
