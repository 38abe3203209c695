//! Signals to containers.

use super::{Work, attempt, full, signals};
use crate::shim::client::Client;
use crate::shim::protocol::Request;

/// The signal that the image names, or SIGTERM.
pub(in crate::driver) async fn signal(work: &Work, name: &str, number: u32, image: &str) {
    let named = of_image(work, image).await;
    let signal = named.as_deref().and_then(signals::number).unwrap_or(signals::TERM);
    send(work, Request::Signal { attempt: attempt(name, number), signal }).await;
}

pub(in crate::driver) async fn kill(work: &Work, name: &str, number: u32) {
    send(work, Request::Kill { attempt: attempt(name, number) }).await;
}

/// What cannot be told to a shim is told again with the next step.
async fn send(work: &Work, request: Request) {
    let sent = async { Client::connect(&work.directory()).await?.done(request).await };
    if let Err(error) = sent.await {
        tracing::debug!(pod = work.uid, error = full(&error), "a signal did not arrive");
    }
}

async fn of_image(work: &Work, id: &str) -> Option<String> {
    let (store, id) = (work.tools.images.store().clone(), id.parse().ok()?);
    let find = move || store.image(&id).ok().flatten()?.config.stop_signal;
    tokio::task::spawn_blocking(find).await.ok()?
}
