//! A watch: changes in their order, some time after they were made, until it is cut off.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use asb_core::write::Kind;
use futures::Stream;
use futures::stream::unfold;
use hyper::body::{Bytes, Frame};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::clock::until;
use crate::object::text;
use crate::store::Entry;
use crate::world::Cluster;

pub(crate) struct Feed {
    cluster: Arc<Cluster>,
    process: u32,
    kind: Kind,
    /// What has been told.
    position: u64,
    /// When the last was told: the next is not told before it.
    last: Instant,
    habit: Habit,
    ends: Instant,
    is_over: bool,
}

/// How a watch behaves while things go wrong.
#[derive(Clone, Copy, Debug)]
struct Habit {
    /// The most that it lags behind, in milliseconds.
    lag: u64,
    ending: Ending,
}

#[derive(Clone, Copy, Debug)]
enum Ending {
    Plain,
    Broken,
    /// The server has forgotten what came next.
    Expired,
}

/// After so long without a change the server says how far it is. Seldom enough that a long calm costs little.
const BOOKMARK: Duration = Duration::from_secs(10);
const CALM_BOOKMARK: Duration = Duration::from_mins(4);

impl Feed {
    pub(crate) fn open(cluster: &Arc<Cluster>, process: u32, kind: Kind, from: u64, seconds: u64) -> Self {
        let mut world = cluster.world();
        let (is_stormy, chance) = (world.is_stormy, &mut world.chance);
        let habit = if is_stormy {
            let lag = chance.pick(&[1, 20, 300, 4000, 30_000]);
            Habit {
                lag,
                ending: chance.pick(&[Ending::Plain, Ending::Plain, Ending::Broken, Ending::Expired]),
            }
        } else {
            Habit { lag: 1, ending: Ending::Plain }
        };
        let life = if is_stormy { chance.millis(40_000) } else { Duration::from_secs(seconds) };
        drop(world);
        let last = Instant::now();
        let cluster = Arc::clone(cluster);
        Self { cluster, process, kind, position: from, last, habit, ends: last + life, is_over: false }
    }

    pub(crate) fn lines(self) -> impl Stream<Item = io::Result<Frame<Bytes>>> {
        unfold(self, |mut feed| async move { Some((feed.next().await?, feed)) })
    }

    async fn next(&mut self) -> Option<io::Result<Frame<Bytes>>> {
        loop {
            if self.is_over {
                return None;
            }
            let (entry, due) = self.ahead();
            match entry {
                Some(entry) if due < self.ends => {
                    until(due).await;
                    return Some(Ok(self.tell(&entry).await));
                }
                Some(_) => until(self.ends).await,
                None => {
                    let is_stormy = self.cluster.world().is_stormy;
                    let pause = if is_stormy { BOOKMARK } else { CALM_BOOKMARK };
                    let pause = self.ends.min(Instant::now() + pause);
                    let came = timeout_at(pause, self.cluster.news(self.kind)).await;
                    if came.is_err() && Instant::now() < self.ends {
                        return Some(Ok(self.bookmark().await));
                    }
                }
            }
            if Instant::now() >= self.ends {
                return self.end().await;
            }
        }
    }

    /// The next change, and when it is to be told.
    fn ahead(&self) -> (Option<Entry>, Instant) {
        let mut world = self.cluster.world();
        let entry = world.store.after(self.kind, self.position).cloned();
        let lag = if entry.is_some() && world.is_stormy {
            world.chance.millis(self.habit.lag)
        } else {
            Duration::ZERO
        };
        let due = entry.as_ref().map_or(self.last, |entry| entry.at + lag);
        (entry, due.max(self.last))
    }

    async fn tell(&mut self, entry: &Entry) -> Frame<Bytes> {
        self.is_heard().await;
        self.cluster.world().witness.serve(self.process, self.kind, &entry.object);
        (self.position, self.last) = (entry.version, Instant::now());
        line(entry.type_, &entry.object)
    }

    async fn bookmark(&mut self) -> Frame<Bytes> {
        self.is_heard().await;
        let world = self.cluster.world();
        if world.store.after(self.kind, self.position).is_none() {
            self.position = self.position.max(world.store.version());
        }
        let metadata = json!({"resourceVersion": self.position.to_string()});
        let (api_version, kind) = (self.kind.api_version(), self.kind.name());
        line("BOOKMARK", &json!({"apiVersion": api_version, "kind": kind, "metadata": metadata}))
    }

    async fn end(&mut self) -> Option<io::Result<Frame<Bytes>>> {
        self.is_heard().await;
        self.is_over = true;
        match self.habit.ending {
            Ending::Plain => None,
            Ending::Broken => Some(Err(io::ErrorKind::ConnectionReset.into())),
            Ending::Expired => Some(Ok(line(
                "ERROR",
                &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 410,
                    "reason": "Expired", "message": "too old resource version"}),
            ))),
        }
    }

    /// A process that is gone hears nothing, and one that is cut off hears it later.
    async fn is_heard(&self) {
        self.cluster.connected(self.process).await;
        let is_alive = self.cluster.world().processes.is_alive(self.process);
        if !is_alive {
            pending::<()>().await;
        }
    }
}

fn line(type_: &str, object: &Value) -> Frame<Bytes> {
    let object = text(object);
    Frame::data(Bytes::from(format!("{{\"type\":\"{type_}\",\"object\":{object}}}\n")))
}
