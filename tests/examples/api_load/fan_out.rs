//! Watches: how long a write takes to reach a hundred of them, and how many events they take together.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::connection::{Call, Door, next};
use crate::objects::{Kind, namespace};
use crate::sample::report;
use crate::work::fresh;

const WATCHERS: usize = 100;
const WRITES: usize = 60;
const BURST: usize = 320;
const WRITERS: usize = 16;

pub(crate) async fn measure(door: &Door) -> Result<()> {
    let place = fresh();
    let mut connection = door.connect().await?;
    namespace(&mut connection, &place).await?;
    let mut watchers = Watchers::start(door, &place).await?;
    // A watch that has delivered once is surely under way.
    connection.call(&Kind::Sandbox.create(&place, "first")).await?;
    watchers.all(1).await?;
    let (mut times, start) = (Vec::new(), Instant::now());
    for number in 0..WRITES {
        let call = Kind::Sandbox.create(&place, &format!("object-{number}"));
        let start = Instant::now();
        connection.call(&call).await?;
        times.extend(watchers.all(1).await?.into_iter().map(|arrived| arrived - start));
    }
    report(&format!("one write at a time to {WATCHERS} watches"), times, start.elapsed())?;
    burst(door, &place, &mut watchers).await
}

/// Many writes at once; what counts is when the last watcher has the last event.
async fn burst(door: &Door, place: &str, watchers: &mut Watchers) -> Result<()> {
    let start = Instant::now();
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (mut connection, place) = (door.connect().await?, place.to_owned());
        writers.spawn(async move {
            for number in 0..BURST / WRITERS {
                connection.call(&Kind::Sandbox.create(&place, &format!("burst-{writer}-{number}"))).await?;
            }
            anyhow::Ok(())
        });
    }
    let arrived = watchers.all(BURST).await?;
    while let Some(ended) = writers.join_next().await {
        ended.context("a writer ended badly")??;
    }
    let times: Vec<Duration> = arrived.into_iter().map(|arrived| arrived - start).collect();
    let took = times.iter().max().copied().unwrap_or_default();
    report(&format!("{BURST} writes at once to {WATCHERS} watches"), times, took)
}

/// Clients that count lines, one for each event, and say when each came.
struct Watchers {
    arrivals: mpsc::UnboundedReceiver<Instant>,
    _tasks: JoinSet<()>,
}

impl Watchers {
    async fn start(door: &Door, place: &str) -> Result<Self> {
        let (sender, arrivals) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        for _ in 0..WATCHERS {
            let path = format!("{}?watch=true&resourceVersion=0", Kind::Sandbox.path(place));
            let mut connection = door.connect().await?;
            let (status, mut body) = connection.open(&Call::get(path)).await?;
            ensure!(status.is_success(), "a watch was refused with {status}");
            let sender = sender.clone();
            tasks.spawn(async move {
                while let Ok(Some(bytes)) = next(&mut body).await {
                    let now = Instant::now();
                    let lines = bytes.split(|byte| *byte == b'\n').count() - 1;
                    if (0..lines).any(|_| sender.send(now).is_err()) {
                        return;
                    }
                }
                drop(connection);
            });
        }
        Ok(Self { arrivals, _tasks: tasks })
    }

    /// Waits until every watcher has so many events more.
    async fn all(&mut self, events: usize) -> Result<Vec<Instant>> {
        let mut arrived = Vec::with_capacity(events * WATCHERS);
        while arrived.len() < events * WATCHERS {
            arrived.push(self.arrivals.recv().await.context("the watches ended")?);
        }
        Ok(arrived)
    }
}
