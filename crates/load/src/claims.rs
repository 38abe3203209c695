//! The load: claims at given times, whether earlier ones are done or not, each timed from its request until a watch says
//! that it is Ready.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::connection::{Call, Door};
use crate::crew::Crew;
use crate::feed::Feed;
use crate::objects;

/// Time to get ready before the first claim.
const HEAD_START: Duration = Duration::from_millis(50);

/// One request.
struct Made {
    begun: Instant,
    answered: Instant,
    failed: Option<String>,
}

/// What the watch said of a claim.
struct Ready {
    at: Instant,
    is_cold: bool,
}

pub(crate) async fn claim(
    door: &Door,
    pool: &str,
    prefix: &str,
    offsets: &[u64],
    patience: Duration,
) -> Result<Value> {
    let names: Vec<String> = (0..offsets.len()).map(|number| format!("{prefix}-{number}")).collect();
    let calls = names.iter().map(|name| objects::claim(name, pool)).collect();
    let crew = Arc::new(Crew::open(door).await?);
    let feed = Feed::of(door, &objects::claims()).await?;
    let start = Instant::now() + HEAD_START;
    let last = Duration::from_micros(offsets.last().copied().unwrap_or_default());
    let watching = tokio::spawn(follow(feed, offsets.len(), start + last + patience));
    let made = send(&crew, calls, offsets, start).await?;
    let ready = watching.await.context("the watch ended badly")??;
    Ok(report(&names, offsets, start, &made, &ready))
}

/// Sends each request at its time.
async fn send(crew: &Arc<Crew>, calls: Vec<Call>, offsets: &[u64], start: Instant) -> Result<Vec<Made>> {
    let mut requests = JoinSet::new();
    for (number, (call, offset)) in calls.into_iter().zip(offsets).enumerate() {
        tokio::time::sleep_until((start + Duration::from_micros(*offset)).into()).await;
        let crew = Arc::clone(crew);
        requests.spawn(async move {
            let begun = Instant::now();
            let failed = crew.call(&call).await.err().map(|error| format!("{error:#}"));
            (number, Made { begun, answered: Instant::now(), failed })
        });
    }
    let mut made = requests.join_all().await;
    made.sort_unstable_by_key(|(number, _)| *number);
    let made: Vec<Made> = made.into_iter().map(|(_, made)| made).collect();
    let refused = made.iter().find_map(|made| made.failed.as_deref());
    ensure!(made.iter().any(|made| made.failed.is_none()), "no claim was taken: {}", refused.unwrap_or(""));
    Ok(made)
}

/// Until so many claims are Ready, or the time is up.
async fn follow(mut feed: Feed, count: usize, deadline: Instant) -> Result<HashMap<String, Ready>> {
    let mut ready = HashMap::new();
    while ready.len() < count {
        let Some((claim, at)) = feed.before(deadline).await? else { break };
        if claim.is_ready() {
            let is_cold = claim.status.sandbox.name == claim.metadata.name;
            ready.entry(claim.metadata.name).or_insert(Ready { at, is_cold });
        }
    }
    Ok(ready)
}

/// Of each claim the microseconds until it was Ready, or nothing; of all, what the load itself did to them.
fn report(
    names: &[String],
    offsets: &[u64],
    start: Instant,
    made: &[Made],
    ready: &HashMap<String, Ready>,
) -> Value {
    let until_ready =
        |(name, made): (&String, &Made)| ready.get(name).map(|ready| micros(ready.at - made.begun));
    let late = |(offset, made): (&u64, &Made)| micros(made.begun - (start + Duration::from_micros(*offset)));
    let end = ready.values().map(|ready| ready.at).max().unwrap_or(start);
    json!({
        "latencies": names.iter().zip(made).map(until_ready).collect::<Vec<_>>(),
        "creates": made.iter().map(|made| micros(made.answered - made.begun)).collect::<Vec<_>>(),
        "lateness": offsets.iter().zip(made).map(late).max(),
        "cold": ready.values().filter(|ready| ready.is_cold).count(),
        "refused": made.iter().filter(|made| made.failed.is_some()).count(),
        "seconds": end.saturating_duration_since(start).as_secs_f64(),
    })
}

fn micros(duration: Duration) -> u64 {
    duration.as_micros().try_into().unwrap_or(u64::MAX)
}
