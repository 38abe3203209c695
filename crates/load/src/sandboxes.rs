//! Many Sandboxes of nobody's pool, and changes that make an operator look at them again.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::connection::{Call, Door};
use crate::feed::Feed;
use crate::objects;

/// Enough to keep a server busy.
const CLIENTS: usize = 16;

pub(crate) async fn make(door: &Door, count: usize, patience: Duration) -> Result<Value> {
    let feed = Feed::of(door, &objects::sandboxes()).await?;
    let start = Instant::now();
    let watching = tokio::spawn(follow(feed, count, start + patience));
    all(door, count, |number| objects::sandbox(&name(number))).await?;
    let ready = watching.await.context("the watch ended badly")??;
    ensure!(ready == count, "{ready} of {count} Sandboxes are Ready after {} s", patience.as_secs());
    Ok(json!({ "seconds": start.elapsed().as_secs_f64() }))
}

pub(crate) async fn touch(door: &Door, count: usize) -> Result<Value> {
    let body = json!({"metadata": {"annotations": {"race.test/touched": "yes"}}}).to_string();
    let path = |number| format!("{}/{}", objects::sandboxes(), name(number));
    all(door, count, |number| Call::merge(path(number), body.clone())).await?;
    Ok(Value::Null)
}

fn name(number: usize) -> String {
    format!("idle-{number}")
}

async fn follow(mut feed: Feed, count: usize, deadline: Instant) -> Result<usize> {
    let mut ready = HashSet::new();
    while ready.len() < count {
        let Some((sandbox, _)) = feed.before(deadline).await? else { break };
        if sandbox.is_ready() {
            ready.insert(sandbox.metadata.name);
        }
    }
    Ok(ready.len())
}

/// Makes a call for each number, by several clients that each wait for their own.
async fn all(door: &Door, count: usize, call: impl Fn(usize) -> Call) -> Result<()> {
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let mut connection = door.connect().await?;
        let calls: Vec<Call> = (client..count).step_by(CLIENTS).map(&call).collect();
        clients.spawn(async move {
            for call in calls {
                connection.call(&call).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = clients.join_next().await {
        ended.context("a client ended badly")??;
    }
    Ok(())
}
