//! Waits until the work that a load caused is done: the version of everything stands still, but for the leases.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::connection::Door;
use crate::{feed, objects, pools};

/// In so much time, leases are renewed a few times, and an operator at work writes more.
const WINDOW: Duration = Duration::from_millis(1_500);
const LEASES: u64 = 4;
const LOOKS: u32 = 5;

/// Says for how many seconds there was work, not counting the window in which there was none.
pub(crate) async fn settle(door: &Door, pool: Option<(String, u64)>, patience: Duration) -> Result<Value> {
    let mut connection = door.connect().await?;
    let (start, deadline) = (Instant::now(), Instant::now() + patience);
    let mut seen: Vec<(Instant, u64)> = Vec::new();
    let mut missing = None;
    loop {
        let version = feed::version(&mut connection, &objects::config_maps()).await?;
        let now = Instant::now();
        seen.push((now, version));
        seen.retain(|(at, _)| now - *at <= WINDOW + WINDOW / LOOKS);
        let is_whole = now - seen[0].0 >= WINDOW;
        if is_whole && version - seen[0].1 <= LEASES {
            let ready = match &pool {
                Some((name, size)) => Some((pools::ready(&mut connection, name).await?, *size)),
                None => None,
            };
            if ready.is_none_or(|(ready, size)| ready >= size) {
                let worked = seen[0].0 - start;
                return Ok(json!({ "seconds": worked.as_secs_f64(), "version": version }));
            }
            missing = ready;
        }
        let said =
            missing.map_or_else(String::new, |(ready, size)| format!(": the pool has {ready} of {size}"));
        ensure!(now < deadline, "nothing settled in {} s{said}", patience.as_secs());
        tokio::time::sleep(WINDOW / LOOKS).await;
    }
}
