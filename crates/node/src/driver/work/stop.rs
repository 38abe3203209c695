//! Signals to containers.

use super::{Work, attempt, full, signals};
use crate::shim::client::Client;
use crate::shim::protocol::Request;

/// The container's own signal to stop, that of its image, or SIGTERM.
pub(in crate::driver) async fn signal(work: &Work, name: &str, number: u32, image: &str) {
    let signal = stop_signal(work, name, image).await;
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

async fn stop_signal(work: &Work, name: &str, image: &str) -> i32 {
    let container = work.container(name).ok();
    let named = container.and_then(|container| container.lifecycle.as_ref()?.stop_signal.clone());
    let named = match named {
        Some(named) => Some(named),
        None => of_image(work, image).await,
    };
    named.as_deref().and_then(signals::number).unwrap_or(signals::TERM)
}

async fn of_image(work: &Work, id: &str) -> Option<String> {
    let (store, id) = (work.tools.images.store().clone(), id.parse().ok()?);
    let find = move || store.image(&id).ok().flatten()?.config.stop_signal;
    tokio::task::spawn_blocking(find).await.ok()?
}
