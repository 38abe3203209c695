//! A watch: objects as they change, each with the time at which its line was read.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use hyper::body::Incoming;
use serde::Deserialize;

use crate::connection::{Call, Connection, Door, next};

/// What of an object counts here.
#[derive(Debug, Deserialize)]
pub(crate) struct Object {
    pub(crate) metadata: Metadata,
    #[serde(default)]
    pub(crate) status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) resource_version: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Status {
    pub(crate) ready_replicas: u64,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) sandbox: Assigned,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

/// The Sandbox of a claim.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Assigned {
    pub(crate) name: String,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    object: Object,
}

impl Object {
    pub(crate) fn is_ready(&self) -> bool {
        self.status.conditions.iter().any(|it| it.kind == "Ready" && it.status == "True")
    }
}

pub(crate) struct Feed {
    door: Door,
    collection: String,
    /// Of the last change that was seen.
    version: String,
    /// An answer ends with its connection.
    stream: (Connection, Incoming),
    unread: Vec<u8>,
    arrived: Instant,
    broken: u32,
}

/// A server breaks off a watch whose client is slow, as on a machine that is overloaded.
const MOST_BREAKS: u32 = 20;

impl Feed {
    /// Everything in a collection that changes from now on.
    pub(crate) async fn of(door: &Door, collection: &str) -> Result<Self> {
        let version = version(&mut door.connect().await?, collection).await?.to_string();
        let stream = watch(door, collection, &version).await?;
        let (door, collection) = (door.clone(), collection.to_owned());
        let (unread, arrived) = (Vec::new(), Instant::now());
        Ok(Self { door, collection, version, stream, unread, arrived, broken: 0 })
    }

    /// The next change; none once the time is up.
    pub(crate) async fn before(&mut self, deadline: Instant) -> Result<Option<(Object, Instant)>> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left == Duration::ZERO {
            return Ok(None);
        }
        match tokio::time::timeout(left, self.next()).await {
            Ok(change) => change.map(Some),
            Err(_) => Ok(None),
        }
    }

    async fn next(&mut self) -> Result<(Object, Instant)> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                let event: Event = serde_json::from_slice(&line).context("reading a watch")?;
                ensure!(event.kind != "ERROR", "a watch was ended: {}", String::from_utf8_lossy(&line));
                self.version.clone_from(&event.object.metadata.resource_version);
                return Ok((event.object, self.arrived));
            }
            match next(&mut self.stream.1).await {
                Ok(Some(bytes)) => {
                    self.arrived = Instant::now();
                    self.unread.extend_from_slice(&bytes);
                }
                Ok(None) | Err(_) => self.resume().await?,
            }
        }
    }

    /// Goes on where it broke off.
    async fn resume(&mut self) -> Result<()> {
        self.broken += 1;
        ensure!(self.broken <= MOST_BREAKS, "a watch ends again and again");
        self.unread.clear();
        self.stream = watch(&self.door, &self.collection, &self.version).await?;
        Ok(())
    }
}

async fn watch(door: &Door, collection: &str, version: &str) -> Result<(Connection, Incoming)> {
    let mut connection = door.connect().await?;
    let path = format!("{collection}?watch=true&resourceVersion={version}");
    let response = connection.open(&Call::get(path)).await?;
    ensure!(response.status().is_success(), "a watch was refused with {}", response.status());
    Ok((connection, response.into_body()))
}

#[derive(Deserialize)]
struct List {
    metadata: Metadata,
}

/// The version of everything, as of now.
pub(crate) async fn version(connection: &mut Connection, collection: &str) -> Result<u64> {
    let document = connection.get(format!("{collection}?limit=1")).await?;
    let list: List = serde_json::from_slice(&document).context("reading a list")?;
    list.metadata.resource_version.parse().context("a version that is no number")
}
