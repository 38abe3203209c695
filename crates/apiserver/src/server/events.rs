//! Watches on the wire: one JSON document after another, for as long as both sides want it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, header};
use futures::future::BoxFuture;
use futures::stream;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::collection::{columns, in_version, partial, single_metadata};
use crate::api::{Feed, FeedEvent, is_as_stored, shown};
use crate::negotiation::Form;
use crate::resource::Resource;
use crate::status::Status;
use crate::table::{self, IncludeObject};

/// Everything about how one client sees its events.
pub(super) struct Channel {
    pub resource: Arc<Resource>,
    pub form: Form,
    pub include: IncludeObject,
    /// When the server ends it; clients come back by themselves.
    pub deadline: Instant,
    pub stop: CancellationToken,
    /// Ends when the resource is served no more, or by another edition of its definition: what comes then is not what this
    /// client was shown.
    pub retired: BoxFuture<'static, ()>,
}

/// A watch that ends by itself when the client sets no time, so that connections do not live for ever.
pub(super) const LONGEST: Duration = Duration::from_hours(1);

pub(super) fn respond(feed: Feed, channel: Channel) -> Response<Body> {
    let state = State { feed, channel, sent_headers: false, ended: false };
    let body = stream::unfold(state, |mut state| async move {
        let bytes = state.next().await?;
        Some((Ok::<_, Infallible>(bytes), state))
    });
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// A watch that cannot start is told so as its first event, as clients expect it.
pub(super) fn refuse(status: &Status) -> Response<Body> {
    let line = line("ERROR", &status.to_json());
    let mut response = Response::new(Body::from(line));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

struct State {
    feed: Feed,
    channel: Channel,
    sent_headers: bool,
    ended: bool,
}

impl State {
    async fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let event = tokio::select! {
            // Before the first object of the next edition is seen.
            biased;
            () = &mut self.channel.retired => return None,
            event = self.feed.next() => event,
            () = tokio::time::sleep_until(self.channel.deadline) => return None,
            () = self.channel.stop.cancelled() => return None,
        };
        Some(self.encoded(event))
    }

    fn encoded(&mut self, event: FeedEvent) -> Bytes {
        let (name, entry) = match event {
            FeedEvent::Added(entry) => ("ADDED", entry),
            FeedEvent::Modified(entry) => ("MODIFIED", entry),
            FeedEvent::Deleted(entry) => ("DELETED", entry),
            FeedEvent::Bookmark { revision, ends_initial_events } => {
                return line("BOOKMARK", &self.bookmark(&revision.to_string(), ends_initial_events));
            }
            FeedEvent::Error(status) => {
                self.ended = true;
                return line("ERROR", &status.to_json());
            }
        };
        if self.channel.form == Form::Whole && is_as_stored(&self.channel.resource, &entry) {
            return text_line(name, entry.text.json());
        }
        match shown(&self.channel.resource, &entry) {
            Ok(object) => line(name, &self.formed(object)),
            Err(status) => {
                self.ended = true;
                line("ERROR", &status.to_json())
            }
        }
    }

    fn formed(&mut self, object: Value) -> Value {
        match self.channel.form {
            Form::Table(version) => {
                let with_headers = !std::mem::replace(&mut self.sent_headers, true);
                let (columns, include) = (columns(&self.channel.resource), self.channel.include);
                let (metadata, now) = (single_metadata(&object), jiff::Timestamp::now());
                let table = table::table(columns, [object], metadata, include, with_headers, now);
                in_version(table, version)
            }
            Form::Partial(_, version) => partial(&object, version),
            _ => object,
        }
    }

    /// An object that is nothing but its kind and how far the watch has come.
    fn bookmark(&mut self, revision: &str, ends_initial_events: bool) -> Value {
        let resource = &self.channel.resource;
        let mut metadata = json!({"resourceVersion": revision});
        if ends_initial_events {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let bare = json!({"kind": resource.kind, "apiVersion": resource.api_version(), "metadata": metadata});
        self.formed(bare)
    }
}

fn line(name: &str, object: &Value) -> Bytes {
    text_line(name, &serde_json::to_vec(object).expect("a JSON value becomes JSON"))
}

fn text_line(name: &str, object: &[u8]) -> Bytes {
    [b"{\"type\":\"", name.as_bytes(), b"\",\"object\":", object, b"}\n"].concat().into()
}
