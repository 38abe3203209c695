//! Takes spans from the queue to the collector, many at a time. What it does not take is lost, and counted.

use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use tokio::sync::mpsc::Receiver;
use tokio_util::sync::CancellationToken;

use super::complaints::Complaints;
use super::environment::Pace;
use crate::metrics::SpanCounts;

/// Delivers until it is stopped, and then what still waits.
pub(super) async fn run(
    exporter: impl SpanExporter,
    mut waiting: Receiver<SpanData>,
    pace: Pace,
    counts: SpanCounts,
    stop: CancellationToken,
) {
    let mut complaints = Complaints::default();
    loop {
        let batch = gather(&mut waiting, pace, &stop).await;
        let Ok(size @ 1..) = u64::try_from(batch.len()) else { return };
        match deliver(&exporter, batch, pace).await {
            Ok(()) => {
                counts.sent.inc_by(size);
                complaints.delivered(&counts);
            }
            Err(problem) => {
                counts.failed.inc_by(size);
                complaints.failed(&problem, &counts);
            }
        }
    }
}

async fn deliver(exporter: &impl SpanExporter, batch: Vec<SpanData>, pace: Pace) -> Result<(), String> {
    match tokio::time::timeout(pace.patience, exporter.export(batch)).await {
        Ok(outcome) => outcome.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer within {:?}", pace.patience)),
    }
}

/// The next to go: waits for the first as long as it takes, and then for others until there are enough or it is time. Waits
/// for none once it is to end; nothing is left where there are none.
async fn gather(waiting: &mut Receiver<SpanData>, pace: Pace, stop: &CancellationToken) -> Vec<SpanData> {
    let mut batch = Vec::new();
    tokio::select! {
        biased;
        _ = waiting.recv_many(&mut batch, pace.batch) => {}
        () = stop.cancelled() => {}
    }
    let delay = tokio::time::sleep(pace.delay);
    tokio::pin!(delay);
    while !batch.is_empty() && batch.len() < pace.batch {
        let room = pace.batch - batch.len();
        let more = tokio::select! {
            biased;
            count = waiting.recv_many(&mut batch, room) => count,
            () = stop.cancelled() => 0,
            () = &mut delay => 0,
        };
        if more == 0 {
            break;
        }
    }
    batch
}
