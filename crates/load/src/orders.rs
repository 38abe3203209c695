//! What can be asked for, and the answers. The fields are in the words of `xtask/src/bench/claims/generator.rs`.

use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::connection::Door;
use crate::{claims, crew, pools, quiet, sandboxes};

#[derive(Deserialize)]
#[serde(tag = "order", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Order {
    /// Makes the namespace and the template.
    Prepare,
    /// Makes a pool and waits until it is full; says how many seconds that took.
    Pool { name: String, size: u64 },
    /// Makes claims at these microseconds from now, and waits until they are Ready.
    Claims { pool: String, prefix: String, offsets: Vec<u64> },
    /// Waits until nothing is written any more and the pool, where there is one, is full.
    Settle { pool: Option<(String, u64)> },
    /// Makes Sandboxes of nobody's pool and waits until they are Ready.
    Sandboxes { count: usize },
    /// Changes an annotation of so many of these, so that each is looked at.
    Touch { count: usize },
    /// Gets a document of the server.
    Get { path: String },
}

#[derive(Deserialize)]
struct Request {
    #[serde(flatten)]
    order: Order,
    /// Seconds after which to give up.
    patience: u64,
}

/// What became of the order on this line.
pub(crate) async fn answer(door: &Door, line: &str) -> Value {
    match obey(door, line).await {
        Ok(value) => json!({ "done": value }),
        Err(error) => json!({ "failed": format!("{error:#}") }),
    }
}

async fn obey(door: &Door, line: &str) -> Result<Value> {
    let request: Request = serde_json::from_str(line).context("understanding the order")?;
    let patience = Duration::from_secs(request.patience);
    let work = carry_out(door, request.order, patience);
    // Whatever waits gives up by itself and says for what; this is for what hangs.
    tokio::time::timeout(patience + crew::HANGING, work).await.context("nothing answers any more")?
}

async fn carry_out(door: &Door, order: Order, patience: Duration) -> Result<Value> {
    match order {
        Order::Prepare => pools::prepare(door, patience).await,
        Order::Pool { name, size } => pools::make(door, &name, size, patience).await,
        Order::Claims { pool, prefix, offsets } => {
            claims::claim(door, &pool, &prefix, &offsets, patience).await
        }
        Order::Settle { pool } => quiet::settle(door, pool, patience).await,
        Order::Sandboxes { count } => sandboxes::make(door, count, patience).await,
        Order::Touch { count } => sandboxes::touch(door, count).await,
        Order::Get { path } => {
            let document = door.connect().await?.get(path).await?;
            Ok(json!({ "text": String::from_utf8_lossy(&document) }))
        }
    }
}
