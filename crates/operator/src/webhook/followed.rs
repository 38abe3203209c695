//! Follows one object by its name: by watching where that is allowed, and by looking now and then where only reading is.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use kube::Client;
use kube::api::{GetParams, ListParams, WatchEvent, WatchParams};
use kube::core::Request;
use serde_json::Value;
use tokio::sync::watch;

const WATCH_SECONDS: u32 = 290;
const WATCH_PATIENCE: Duration = Duration::from_mins(5);
const PAUSE: Duration = Duration::from_secs(2);
/// How often to look where watching is not allowed.
const LOOK: Duration = Duration::from_secs(30);

/// An object as it was last seen.
#[derive(Clone, Debug, Default)]
pub(crate) enum Seen {
    #[default]
    NotYet,
    Absent,
    There(Arc<Value>),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot build a request")]
    Request(#[from] kube::core::request::Error),
    #[error("{0}")]
    Client(#[from] kube::Error),
    #[error("the watch was ended: {0}")]
    Ended(String),
}

/// Where an object is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The URL path of its kind, with the namespace.
    pub(crate) path: String,
    pub(crate) name: String,
}

/// Keeps `seen` up to date, for ever.
pub(crate) async fn follow(client: Client, place: Place, seen: watch::Sender<Seen>) {
    loop {
        let pause = match turn(&client, &place, &seen).await {
            Ok(()) => Duration::ZERO,
            Err(error) if is_forbidden(&error) => match look(&client, &place, &seen).await {
                Ok(()) => LOOK,
                Err(error) => complain(&place, &error),
            },
            Err(error) => complain(&place, &error),
        };
        tokio::time::sleep(pause).await;
    }
}

fn complain(place: &Place, error: &Error) -> Duration {
    tracing::warn!(object = %place.name, %error, "cannot follow an object, trying again");
    PAUSE
}

/// Lists the one object, and then watches it until the server ends the watch.
async fn turn(client: &Client, place: &Place, seen: &watch::Sender<Seen>) -> Result<(), Error> {
    let fields = format!("metadata.name={}", place.name);
    let params = ListParams::default().fields(&fields);
    let list: Value = client.request(Request::new(&place.path).list(&params)?).await?;
    seen.send_replace(list["items"].get(0).map_or(Seen::Absent, |item| Seen::There(Arc::new(item.clone()))));
    let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let params = WatchParams::default().fields(&fields).timeout(WATCH_SECONDS);
    let request = Request::new(&place.path).watch(&params, version)?;
    let mut events = pin!(client.request_events::<Value>(request).await?);
    let deadline = tokio::time::Instant::now() + WATCH_PATIENCE;
    while let Ok(event) = tokio::time::timeout_at(deadline, events.try_next()).await {
        match event? {
            Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                seen.send_replace(Seen::There(Arc::new(object)));
            }
            Some(WatchEvent::Deleted(_)) => drop(seen.send_replace(Seen::Absent)),
            Some(WatchEvent::Bookmark(_)) => {}
            Some(WatchEvent::Error(status)) => return Err(Error::Ended(status.message)),
            None => break,
        }
    }
    Ok(())
}

async fn look(client: &Client, place: &Place, seen: &watch::Sender<Seen>) -> Result<(), Error> {
    let request = Request::new(&place.path).get(&place.name, &GetParams::default())?;
    let now = match client.request::<Value>(request).await {
        Ok(object) => Seen::There(Arc::new(object)),
        Err(kube::Error::Api(status)) if status.code == 404 => Seen::Absent,
        Err(error) => return Err(error.into()),
    };
    seen.send_if_modified(|before| {
        let is_new = version(before) != version(&now) || matches!(before, Seen::NotYet);
        *before = now;
        is_new
    });
    Ok(())
}

fn version(seen: &Seen) -> Option<&Value> {
    match seen {
        Seen::There(object) => Some(&object["metadata"]["resourceVersion"]),
        Seen::NotYet | Seen::Absent => None,
    }
}

fn is_forbidden(error: &Error) -> bool {
    matches!(error, Error::Client(kube::Error::Api(status)) if status.code == 403)
}
