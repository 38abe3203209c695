//! Connections that are open before they are needed, lent to one call at a time.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::sync::Semaphore;

use crate::connection::{Call, Connection, Door};

/// As many as a busy client library has requests under way.
const CONNECTIONS: usize = 64;

/// How long after the end of all patience something is taken to hang.
pub(crate) const HANGING: Duration = Duration::from_secs(90);

pub(crate) struct Crew {
    idle: Mutex<Vec<Connection>>,
    free: Semaphore,
}

impl Crew {
    /// Each connection has been used once.
    pub(crate) async fn open(door: &Door) -> Result<Self> {
        let mut idle = Vec::with_capacity(CONNECTIONS);
        for _ in 0..CONNECTIONS {
            let mut connection = door.connect().await?;
            connection.call(&Call::get("/version".to_owned())).await?;
            idle.push(connection);
        }
        Ok(Self { idle: Mutex::new(idle), free: Semaphore::new(CONNECTIONS) })
    }

    pub(crate) async fn call(&self, call: &Call) -> Result<()> {
        let _turn = self.free.acquire().await.context("waiting for a connection")?;
        let mut connection = self.idle().pop().context("there are as many as turns")?;
        let called = connection.call(call).await;
        self.idle().push(connection);
        called.map(drop)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
