//! What one client may take, so that others get their share: bytes of a body, watches, requests in flight.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::status::Status;

/// What Kubernetes takes, too.
pub(super) const MOST_BODY_BYTES: usize = 3 * 1024 * 1024;

/// Bodies are small; a client that needs longer than this to send one does not mean it.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

const MOST_WATCHES: usize = 10_000;
const MOST_REQUESTS: usize = 800;

/// What takes longer than this is told to try again; a watch is answered at once, and goes on after its answer began.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);

/// Held for as long as what it was given for lasts.
pub(super) type Permit = OwnedSemaphorePermit;

pub(super) struct Limits {
    watches: Arc<Semaphore>,
    requests: Arc<Semaphore>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            watches: Arc::new(Semaphore::new(MOST_WATCHES)),
            requests: Arc::new(Semaphore::new(MOST_REQUESTS)),
        }
    }
}

impl Limits {
    pub(super) fn watch(&self) -> Result<Permit, Status> {
        admit(&self.watches, "too many watches; close some")
    }

    pub(super) fn request(&self) -> Result<Permit, Status> {
        admit(&self.requests, "too many requests, please try again later")
    }
}

fn admit(room: &Arc<Semaphore>, why: &str) -> Result<Permit, Status> {
    let full = |_| Status::new(429, "TooManyRequests", why).retry_after(1);
    Arc::clone(room).try_acquire_owned().map_err(full)
}

/// The whole body of a request.
pub(super) async fn body(body: Body) -> Result<Bytes, Status> {
    let read = Limited::new(body, MOST_BODY_BYTES).collect();
    match tokio::time::timeout(BODY_TIMEOUT, read).await {
        Err(_) => Err(Status::new(408, "Timeout", "the body of the request did not arrive in time")),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(Status::too_large(&format!("limit is {MOST_BODY_BYTES}")))
        }
        Ok(Err(error)) => {
            Err(Status::bad_request(format!("the body of the request could not be read: {error}")))
        }
        Ok(Ok(body)) => Ok(body.to_bytes()),
    }
}
