//! Watches: opens a stream, lets things happen, and collects the events they cause.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::BytesMut;
use http_body_util::BodyExt;
use hyper::http::Response;
use kube::client::Body;
use serde_json::Value;
use tokio::time::timeout;

use crate::case::Watch;

/// Long enough for a busy machine.
const DEADLINE: Duration = Duration::from_secs(45);

pub(crate) struct Events {
    body: Body,
    unread: BytesMut,
}

/// Whether it is a bookmark that ends nothing: a server sends one whenever it likes.
fn is_periodic(event: &Value) -> bool {
    let ends = &event["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"];
    event["type"] == "BOOKMARK" && ends != "true"
}

impl Events {
    pub(crate) fn of(response: Response<Body>) -> Self {
        Self { body: response.into_body(), unread: BytesMut::new() }
    }

    /// As many events as the watch wants, and whether the server ended the stream.
    pub(crate) async fn collect(mut self, watch: &Watch) -> Result<(Vec<Value>, bool)> {
        let mut events = Vec::new();
        while watch.events.is_none_or(|wanted| events.len() < wanted) {
            let next = timeout(DEADLINE, self.next()).await;
            let Ok(next) = next else { bail!("waited in vain for more than these events: {events:#?}") };
            let Some(event) = next? else { return Ok((events, true)) };
            let counts = if watch.bookmarks { !is_periodic(&event) } else { event["type"] != "BOOKMARK" };
            if counts {
                events.push(event);
            }
        }
        Ok((events, false))
    }

    async fn next(&mut self) -> Result<Option<Value>> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line = self.unread.split_to(end + 1);
                return serde_json::from_slice(&line).map(Some).context("an event that is no JSON");
            }
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            if let Ok(data) = frame?.into_data() {
                self.unread.extend_from_slice(&data);
            }
        }
    }
}
