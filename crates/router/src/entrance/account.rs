//! What is told of a request once it is answered: one line in the log, and the metrics.

use std::time::Instant;

use asb_core::route::{Place, Wanted};
use http::{Method, Request, StatusCode};

use super::{Entrance, Peer};

pub(super) struct Account {
    since: Instant,
    method: Method,
    path: String,
    sandbox: String,
    /// Of a Sandbox that is there: names that clients make up are no labels.
    namespace: String,
}

impl Account {
    pub(super) fn open<B>(request: &Request<B>) -> Self {
        Self {
            since: Instant::now(),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            sandbox: String::new(),
            namespace: String::new(),
        }
    }

    pub(super) fn is_for(&mut self, wanted: &Wanted) {
        wanted.id().clone_into(&mut self.sandbox);
    }

    pub(super) fn goes_to(&mut self, place: &Place) {
        self.sandbox = place.key.to_string();
        place.key.namespace.as_ref().clone_into(&mut self.namespace);
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(super) fn close(self, status: StatusCode, peer: &Peer, entrance: &Entrance) {
        let after = self.since.elapsed();
        entrance.metrics.answered(&self.method, status, &self.namespace, after);
        if entrance.settings.access_log {
            tracing::info!(
                target: "asb_router::access",
                method = %self.method,
                path = self.path,
                status = status.as_u16(),
                sandbox = self.sandbox,
                client = peer.address.map(|address| address.to_string()),
                milliseconds = u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
                "request"
            );
        }
    }
}
