//! The ground for claims: a namespace, a template, and pools that are full.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::connection::{Connection, Door};
use crate::feed::{Feed, Object};
use crate::objects;

const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

pub(crate) async fn prepare(door: &Door, patience: Duration) -> Result<Value> {
    let mut connection = door.connect().await?;
    connection.call(&objects::namespace()).await?;
    // Pods are refused until their namespace has it.
    let deadline = Instant::now() + patience;
    while let Err(error) = connection.call(&objects::service_account()).await {
        if Instant::now() > deadline {
            return Err(error.context("the namespace has no service account"));
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
    connection.call(&objects::template()).await?;
    Ok(Value::Null)
}

pub(crate) async fn make(door: &Door, name: &str, size: u64, patience: Duration) -> Result<Value> {
    let mut connection = door.connect().await?;
    let mut feed = Feed::of(door, &objects::pools()).await?;
    let (start, mut ready) = (Instant::now(), 0);
    connection.call(&objects::pool(name, size)).await?;
    while let Some((pool, at)) = feed.before(start + patience).await? {
        if pool.metadata.name == name {
            ready = pool.status.ready_replicas;
        }
        if ready >= size {
            return Ok(json!({ "seconds": (at - start).as_secs_f64() }));
        }
    }
    bail!("the pool has {ready} of {size} after {} s", patience.as_secs())
}

/// How many of a pool are ready.
pub(crate) async fn ready(connection: &mut Connection, name: &str) -> Result<u64> {
    let document = connection.get(format!("{}/{name}", objects::pools())).await?;
    let pool: Object = serde_json::from_slice(&document).context("reading the pool")?;
    Ok(pool.status.ready_replicas)
}
