//! What becomes of spans when there are too many of them, and when nobody takes them.

use std::sync::{Arc, Mutex};

use opentelemetry::trace::{Span as _, Tracer};
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::SpanData;
use tokio::sync::Notify;
use tracing_subscriber::layer::SubscriberExt;

use super::environment::Pace;
use super::*;

const PACE: Pace =
    Pace { queue: 4, batch: 2, delay: Duration::from_secs(5), patience: Duration::from_secs(30) };

/// The spans that are recorded meanwhile, in the order in which they ended.
pub(crate) fn recording(act: impl FnOnce()) -> Vec<SpanData> {
    let (queue, mut waiting) = mpsc::channel(100);
    let mailbox = Mailbox::new(queue, SpanCounts::default());
    let provider = SdkTracerProvider::builder().with_span_processor(mailbox).build();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer(&provider)), act);
    std::iter::from_fn(|| waiting.try_recv().ok()).collect()
}

/// A collector that takes what it is given, or does not.
#[derive(Clone, Debug, Default)]
struct Collector {
    batches: Arc<Mutex<Vec<usize>>>,
    is_dead: Arc<Mutex<bool>>,
    is_stuck: bool,
    came: Arc<Notify>,
}

impl opentelemetry_sdk::trace::SpanExporter for Collector {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.batches.lock().unwrap().push(batch.len());
        self.came.notify_one();
        if self.is_stuck {
            std::future::pending::<()>().await;
        }
        if *self.is_dead.lock().unwrap() {
            return Err(OTelSdkError::InternalFailure("nobody is there".to_owned()));
        }
        Ok(())
    }
}

struct Scene {
    provider: SdkTracerProvider,
    counts: SpanCounts,
    stop: CancellationToken,
    delivery: tokio::task::JoinHandle<()>,
}

fn scene(collector: &Collector) -> Scene {
    let (counts, stop) = (SpanCounts::default(), CancellationToken::new());
    let (queue, waiting) = mpsc::channel(PACE.queue);
    let mailbox = Mailbox::new(queue, counts.clone());
    let provider = SdkTracerProvider::builder().with_span_processor(mailbox).build();
    let run = delivery::run(collector.clone(), waiting, PACE, counts.clone(), stop.clone());
    Scene { provider, counts, stop, delivery: tokio::spawn(run) }
}

impl Scene {
    fn spans(&self, count: usize) {
        let tracer = self.provider.tracer("test");
        (0..count).for_each(|_| tracer.start("span").end());
    }

    async fn end(self) -> [u64; 3] {
        self.stop.cancel();
        let counts = self.counts.clone();
        self.delivery.await.unwrap();
        counted(&counts)
    }
}

/// Those that were sent, dropped and lost.
fn counted(counts: &SpanCounts) -> [u64; 3] {
    [counts.sent.get(), counts.dropped.get(), counts.failed.get()]
}

#[tokio::test(start_paused = true)]
async fn spans_go_together_once_there_are_enough_or_it_is_time() {
    let collector = Collector::default();
    let scene = scene(&collector);
    scene.spans(3);
    let start = tokio::time::Instant::now();
    collector.came.notified().await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    collector.came.notified().await;
    assert_eq!(start.elapsed(), PACE.delay);
    assert_eq!(*collector.batches.lock().unwrap(), [2, 1]);
    assert_eq!(scene.end().await, [3, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_delivered_at_the_end_without_waiting_for_more() {
    let collector = Collector::default();
    let scene = scene(&collector);
    scene.spans(3);
    let start = tokio::time::Instant::now();
    assert_eq!(scene.end().await, [3, 0, 0]);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn where_there_are_too_many_spans_they_are_dropped_and_counted() {
    let scene = scene(&Collector::default());
    scene.spans(10);
    assert_eq!(counted(&scene.counts), [0, 6, 0]);
    assert_eq!(scene.end().await, [4, 6, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_dead_collector_loses_spans_and_gets_later_ones() {
    let collector = Collector::default();
    *collector.is_dead.lock().unwrap() = true;
    let scene = scene(&collector);
    scene.spans(2);
    collector.came.notified().await;
    scene.spans(2);
    collector.came.notified().await;
    *collector.is_dead.lock().unwrap() = false;
    scene.spans(1);
    assert_eq!(scene.end().await, [1, 0, 4]);
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_never_answers_is_given_up_on() {
    let collector = Collector { is_stuck: true, ..Collector::default() };
    let scene = scene(&collector);
    scene.spans(1);
    let start = tokio::time::Instant::now();
    assert_eq!(scene.end().await, [0, 0, 1]);
    assert_eq!(start.elapsed(), PACE.patience);
}

#[tokio::test(start_paused = true)]
async fn the_end_waits_for_no_longer_than_promised() {
    let collector = Collector { is_stuck: true, ..Collector::default() };
    let Scene { provider, counts, stop, delivery } = scene(&collector);
    provider.tracer("test").start("span").end();
    let start = tokio::time::Instant::now();
    Traces { provider, counts, stop, delivery: AbortOnDropHandle::new(delivery) }.close().await;
    assert_eq!(start.elapsed(), FAREWELL);
}

#[test]
fn what_the_operator_logs_meanwhile_is_told_in_the_span_and_what_others_log_is_not() {
    let spans = recording(|| {
        let _span = tracing::info_span!("look").entered();
        tracing::warn!(object = "team/demo", "something is odd");
        tracing::debug!("too much detail");
        tracing::warn!(target: "hyper", "of no interest");
    });
    let events = spans[0].events.iter().map(|event| event.name.as_ref()).collect::<Vec<_>>();
    assert_eq!(events, ["something is odd"]);
}
