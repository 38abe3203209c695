//! Calls that end: creates, reads, lists and patches, by one client and by many.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use crate::connection::{Call, Door};
use crate::objects::{Kind, namespace};
use crate::sample::report;

const MANY: usize = 32;

/// Where the large collection is.
const FULL: &str = "full";
const OBJECTS: usize = 10_000;
const LISTS: usize = 5;

/// So many calls are enough for a p99 that means something, and few enough for a round of seconds.
const ALONE: usize = 300;
const READS: usize = 2_000;
const TOGETHER: usize = 3_200;

/// Makes the large collection, once per server.
pub(crate) async fn fill(door: &Door) -> Result<()> {
    namespace(&mut door.connect().await?, FULL).await?;
    let creates = (0..OBJECTS).map(|number| Kind::ConfigMap.create(FULL, &format!("object-{number}")));
    clients(door, &format!("create of {OBJECTS} ConfigMaps, {MANY} clients"), creates, MANY).await
}

/// Everything once, among new objects.
pub(crate) async fn round(door: &Door) -> Result<()> {
    let place = fresh();
    namespace(&mut door.connect().await?, &place).await?;
    for kind in [Kind::ConfigMap, Kind::Sandbox] {
        let create = |number| kind.create(&place, &format!("object-{number}"));
        let what = format!("create {}", kind.name());
        clients(door, &format!("{what}, 1 client"), (0..ALONE).map(create), 1).await?;
        let rest = (ALONE..ALONE + TOGETHER).map(create);
        clients(door, &format!("{what}, {MANY} clients"), rest, MANY).await?;
    }
    let path = |number: usize| format!("{}/object-{}", Kind::ConfigMap.path(&place), number % TOGETHER);
    let get = |number| Call::get(path(number));
    clients(door, "get ConfigMap, 1 client", (0..READS).map(get), 1).await?;
    clients(door, &format!("get ConfigMap, {MANY} clients"), (0..READS * 4).map(get), MANY).await?;
    let merge = |number| Call::merge(path(number), format!(r#"{{"data":{{"key-0":"{number}"}}}}"#));
    clients(door, "merge patch ConfigMap, 1 client", (0..ALONE).map(merge), 1).await?;
    clients(door, &format!("merge patch ConfigMap, {MANY} clients"), (0..TOGETHER).map(merge), MANY).await?;
    let lists = (0..LISTS).map(|_| Call::get(Kind::ConfigMap.path(FULL)));
    clients(door, &format!("list {OBJECTS} ConfigMaps"), lists, 1).await
}

/// A name for a namespace that no earlier round took.
pub(crate) fn fresh() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("load-{}", now.as_micros())
}

/// Makes calls with so many clients, each waiting for its own, and says how it went.
pub(crate) async fn clients(
    door: &Door,
    what: &str,
    calls: impl Iterator<Item = Call>,
    count: usize,
) -> Result<()> {
    let mut shares: Vec<Vec<Call>> = (0..count).map(|_| Vec::new()).collect();
    calls.enumerate().for_each(|(number, call)| shares[number % count].push(call));
    let mut connections = Vec::new();
    for _ in 0..count {
        let mut connection = door.connect().await?;
        connection.call(&Call::get("/version".to_owned())).await?;
        connections.push(connection);
    }
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for (share, mut connection) in shares.into_iter().zip(connections) {
        tasks.spawn(async move {
            let mut times = Vec::with_capacity(share.len());
            for call in share {
                let start = Instant::now();
                connection.call(&call).await?;
                times.push(start.elapsed());
            }
            anyhow::Ok(times)
        });
    }
    let mut times: Vec<Duration> = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        times.extend(ended.context("a client ended badly")??);
    }
    report(what, times, start.elapsed())
}
