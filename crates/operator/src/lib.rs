//! The operator: keeps Sandboxes, claims, templates and pools as their users asked, on any Kubernetes API.
//!
//! It watches, lets `core` decide, and carries that out; it decides nothing itself. It cannot tell the embedded API server
//! from a real one.

mod cache;
mod caches;
mod claims;
mod clock;
mod context;
mod errands;
mod events;
mod keepsake;
mod leadership;
mod listener;
mod memory;
mod metrics;
mod observer;
#[cfg(feature = "otlp")]
pub mod otlp;
mod pools;
mod probes;
mod queue;
mod sandboxes;
mod settings;
mod shorthand;
pub mod spans;
mod templates;
mod tenure;
mod traffic;
mod watches;
pub mod webhook;
mod workers;
mod world;
mod writer;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use asb_core::views::{ShortClaim, ShortPool, ShortTemplate};
use caches::Caches;
use claims::Claims;
use context::Context;
use events::Recorder;
use leadership::Leadership;
use pools::Pools;
use sandboxes::Sandboxes;
use shorthand::Shorthand;
use templates::Templates;
use tenure::Tenure;
use traffic::Traffic;
use watches::Reach;
use workers::Crew;
use writer::Writer;

pub use asb_core::lease::Terms;
pub use clock::{Clock, Dice, SystemClock};
pub use keepsake::keep;
pub use leadership::{Candidacy, LEASE};
pub use metrics::{Build, Metrics, SpanCounts};
pub use observer::Observer;
pub use probes::{serve_health, serve_metrics};
pub use settings::{Settings, Workers};
pub use watches::ChildScope;

/// How long a leader that is asked to go finishes what it has begun.
const FAREWELL: Duration = Duration::from_secs(10);

/// How many objects of each short spelling are looked at at a time. Most of the work is on those that they stand for.
const SHORTHAND_WORKERS: usize = 4;

/// One operator. Several may run; with a [`Candidacy`] one of them acts.
pub struct Operator {
    client: Client,
    context: Arc<Context>,
    candidacy: Option<Candidacy>,
    tenure: Arc<Tenure>,
    observer: Observer,
    metrics: Arc<Metrics>,
    /// Watches and the sender of events, which go on whoever leads.
    background: JoinSet<()>,
}

impl Operator {
    pub fn new(client: Client, settings: Settings, candidacy: Option<Candidacy>) -> Self {
        Self::with(client, settings, candidacy, Arc::new(SystemClock), Dice::loaded_by_chance())
    }

    /// An operator that is told the time and what chance says.
    pub fn with(
        client: Client,
        settings: Settings,
        candidacy: Option<Candidacy>,
        clock: Arc<dyn Clock>,
        dice: Dice,
    ) -> Self {
        let (caches, traffic, dice) =
            (Arc::new(Caches::new(Arc::clone(&clock))), Traffic::new(settings.requests), Arc::new(dice));
        let reach = Reach {
            namespace: settings.namespace.as_deref().map(Into::into),
            children: settings.children,
            extensions: settings.extensions,
            shorthand: settings.extensions && settings.shorthand,
        };
        let observer = Observer::new(&caches);
        if settings.spans.is_some() {
            caches.memory.traces.begin();
        }
        let metrics = Arc::new(Metrics::new(observer.clone(), settings.workers, settings.spans.as_ref()));
        let client = metrics.requests.over(&client, &settings.api_server);
        let mut background = watches::start(&client, &caches, &reach);
        let (recorder, sending) = Recorder::new(
            client.clone(),
            Arc::clone(&traffic),
            Arc::clone(&clock),
            Arc::clone(&dice),
            &settings.instance,
        );
        background.spawn(sending);
        let tenure = Arc::new(Tenure::default());
        let writer = Writer::new(client.clone(), Arc::clone(&caches), traffic, Arc::clone(&tenure));
        let measured = Arc::clone(&metrics);
        let context =
            Arc::new(Context { caches, writer, recorder, clock, dice, settings, metrics: measured });
        Self { client, context, candidacy, tenure, observer, metrics, background }
    }

    /// Says how it is doing, also while it runs.
    pub fn observer(&self) -> Observer {
        self.observer.clone()
    }

    pub fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.metrics)
    }

    /// Works until it is stopped.
    pub async fn run(mut self, stop: CancellationToken) {
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = self.context.caches.synced() => self.lead(&stop).await,
        }
        self.background.shutdown().await;
    }

    async fn lead(&self, stop: &CancellationToken) {
        let Some(candidacy) = self.candidacy.clone() else {
            return self.work(stop, std::future::pending()).await;
        };
        let tenure = Arc::clone(&self.tenure);
        let mut leadership = Leadership::new(self.client.clone(), candidacy, tenure, self.context.now());
        while !stop.is_cancelled() {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = leadership.acquire() => {}
            }
            self.take_over(stop, leadership.keep()).await;
        }
        leadership.release().await;
    }

    /// Finds out what the last leader did, then works.
    async fn take_over(&self, stop: &CancellationToken, lost: impl Future<Output = ()>) {
        let mut lost = pin!(lost);
        tokio::select! {
            biased;
            () = &mut lost => {}
            () = stop.cancelled() => {}
            () = self.context.caches.refreshed() => self.work(stop, lost).await,
        }
    }

    /// Looks after everything until it is stopped, or no longer leads.
    async fn work(&self, stop: &CancellationToken, lost: impl Future<Output = ()>) {
        let crew = self.crew();
        self.context.caches.open();
        self.observer.set_leading(true);
        tokio::select! {
            biased;
            // Another may act already: nothing more is begun or finished.
            () = lost => crew.dismiss().await,
            () = stop.cancelled() => crew.finish(FAREWELL).await,
        }
        self.context.caches.close();
        self.observer.set_leading(false);
    }

    fn crew(&self) -> Crew {
        let (context, workers) = (&self.context, self.context.settings.workers);
        let mut crew = Crew::new(&context.caches, &self.metrics);
        crew.hire(Sandboxes::new(Arc::clone(context)), workers.sandboxes);
        if context.settings.extensions {
            let errands = Arc::clone(&crew.errands);
            crew.hire(Claims::new(Arc::clone(context), Arc::clone(&errands)), workers.claims);
            crew.hire(Pools::new(Arc::clone(context), errands), workers.pools);
            crew.hire(Templates(Arc::clone(context)), workers.templates);
            crew.hire(Shorthand::<ShortTemplate>::new(Arc::clone(context)), SHORTHAND_WORKERS);
            crew.hire(Shorthand::<ShortPool>::new(Arc::clone(context)), SHORTHAND_WORKERS);
            crew.hire(Shorthand::<ShortClaim>::new(Arc::clone(context)), SHORTHAND_WORKERS);
        }
        crew
    }
}
