//! Carries out writes, and lets the caches know what came of them.

use std::sync::Arc;

use asb_core::object::{Key, Uid, Version};
use asb_core::report::is_objection;
use asb_core::write::{Deleting, Kind, Lock, Part, Target, Write};
use http::Request as HttpRequest;
use kube::Client;
use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy};
use kube::core::Request;
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::Instrument;

use crate::caches::Caches;
use crate::spans;
use crate::tenure::Tenure;
use crate::traffic::{Class, Permit, Traffic};

/// Who we are in `managedFields`.
const MANAGER: &str = "agent-sandbox-controller";
/// The name under which the children of Sandboxes are made.
const CHILD_MANAGER: &str = "sandbox-controller";

/// Why a write did not happen, or may not have.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The object changed, or is another of the same name.
    #[error("{0}")]
    Conflict(String),
    #[error("{0}")]
    Exists(String),
    #[error("{0}")]
    Missing(String),
    /// The server will not have it as it is.
    #[error("{0}")]
    Refused(String),
    /// The server cannot do it now.
    #[error("{0}")]
    Unavailable(String),
    /// No answer came, or the server does not know itself: it may have happened, or may yet.
    #[error("no clear answer from the API server: {0}")]
    Unanswered(String),
    #[error("cannot build a request: {0}")]
    Request(#[from] kube::core::request::Error),
}

#[derive(Clone)]
pub(crate) struct Writer {
    client: Client,
    caches: Arc<Caches>,
    traffic: Arc<Traffic>,
    tenure: Arc<Tenure>,
}

impl Writer {
    pub(crate) fn new(
        client: Client,
        caches: Arc<Caches>,
        traffic: Arc<Traffic>,
        tenure: Arc<Tenure>,
    ) -> Self {
        Self { client, caches, traffic, tenure }
    }

    /// Carries out a write. The answer is in the caches when this returns, and so is what the write ran into.
    pub(crate) async fn write(&self, write: &Write, class: Class) -> Result<Value, Failure> {
        let permit = self.turn(class).await;
        self.write_now(write, permit).await
    }

    /// Waits for the turn of a write. What it was decided on may have changed by then.
    pub(crate) async fn turn(&self, class: Class) -> Permit {
        self.traffic.pass(class).await
    }

    /// Carries out a write whose turn it is.
    pub(crate) async fn write_now(&self, write: &Write, permit: Permit) -> Result<Value, Failure> {
        if self.tenure.is_over() {
            return Err(Failure::Unavailable("another may lead by now".to_owned()));
        }
        let (span, begun) = (spans::write(write), Instant::now());
        let answer = self.send(request(write)?).instrument(span.clone()).await;
        match &answer {
            Ok(_) => permit.answered(begun.elapsed()),
            Err(failure) => span.in_scope(|| spans::failed(&failure.to_string())),
        }
        match (&answer, write) {
            (Ok(object), Write::Delete { target, uid, .. }) => self.learn_deletion(target, uid, object),
            (Ok(object), _) => self.learn(write.target().kind, object),
            (
                Err(Failure::Conflict(_) | Failure::Exists(_) | Failure::Missing(_) | Failure::Unanswered(_)),
                _,
            ) => {
                // What stands in the way decides what to do next. A failure to read it shows in the next attempt.
                let _ = self.read(write.target()).await;
            }
            (Err(_), _) => {}
        }
        answer
    }

    /// Reads an object from the API server itself, and takes over what it says.
    pub(crate) async fn read(&self, target: &Target) -> Result<Option<Value>, Failure> {
        let known = self.caches.uid(target);
        let request =
            Request::new(path(target.kind, &target.key)).get(&target.key.name, &GetParams::default())?;
        match self.send(request).await {
            Ok(object) => {
                self.learn(target.kind, &object);
                Ok(Some(object))
            }
            Err(Failure::Missing(_)) => {
                // Another of that name may have come meanwhile; only the one that was asked about is gone.
                if let Some(uid) = known {
                    self.caches.learn_gone(target, &uid);
                }
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Reads a node, which is in no cache.
    pub(crate) async fn read_node(&self, name: &str) -> Result<Option<Value>, Failure> {
        match self.send(Request::new("/api/v1/nodes").get(name, &GetParams::default())?).await {
            Err(Failure::Missing(_)) => Ok(None),
            answer => answer.map(Some),
        }
    }

    async fn send(&self, request: HttpRequest<Vec<u8>>) -> Result<Value, Failure> {
        self.client.request(request).await.map_err(failure)
    }

    fn learn(&self, kind: Kind, object: &Value) {
        if let Err(error) = self.caches.learn(kind, object) {
            tracing::warn!(kind = kind.name(), %error, "the API server's answer is no object");
        }
    }

    /// A deletion answers with the object while something still holds it, and with a Status once it is gone.
    fn learn_deletion(&self, target: &Target, uid: &Uid, answer: &Value) {
        if answer["kind"] == target.kind.name() && !answer["metadata"]["deletionTimestamp"].is_null() {
            self.learn(target.kind, answer);
        } else {
            self.caches.learn_gone(target, uid);
        }
    }
}

fn request(write: &Write) -> Result<HttpRequest<Vec<u8>>, Failure> {
    let target = write.target();
    let (requests, name) = (Request::new(path(target.kind, &target.key)), &*target.key.name);
    let request = match write {
        Write::Create { object, .. } => {
            let params =
                PostParams { field_manager: Some(manager(target.kind).to_owned()), ..PostParams::default() };
            requests.create(&params, object.to_string().into_bytes())
        }
        Write::Patch { part, lock, body, .. } => {
            let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
            let patch = Patch::Merge(locked(body, lock));
            match part {
                Part::Object => requests.patch(name, &params, &patch),
                Part::Status => requests.patch_subresource("status", name, &params, &patch),
            }
        }
        Write::Delete { uid, version, how, .. } => requests.delete(name, &deletion(uid, *version, *how)),
    };
    Ok(request?)
}

/// The patch with what must still be so.
fn locked(body: &Value, lock: &Lock) -> Value {
    let mut body = body.clone();
    match lock {
        Lock::Uid(uid) => body["metadata"]["uid"] = json!(uid.as_str()),
        Lock::Version(uid, version) => {
            body["metadata"]["uid"] = json!(uid.as_str());
            body["metadata"]["resourceVersion"] = json!(version.to_string());
        }
    }
    body
}

fn deletion(uid: &Uid, version: Option<Version>, how: Deleting) -> DeleteParams {
    DeleteParams {
        grace_period_seconds: (how == Deleting::Force).then_some(0),
        propagation_policy: Some(match how {
            Deleting::Background | Deleting::Force => PropagationPolicy::Background,
            Deleting::Foreground => PropagationPolicy::Foreground,
        }),
        preconditions: Some(Preconditions {
            uid: Some(uid.as_str().to_owned()),
            resource_version: version.map(|version| version.to_string()),
        }),
        ..DeleteParams::default()
    }
}

fn manager(kind: Kind) -> &'static str {
    match kind {
        Kind::Pod | Kind::Service | Kind::PersistentVolumeClaim => CHILD_MANAGER,
        _ => MANAGER,
    }
}

fn path(kind: Kind, key: &Key) -> String {
    let (version, namespace, plural) = (kind.version(), &key.namespace, kind.plural());
    match kind.group() {
        "" => format!("/api/{version}/namespaces/{namespace}/{plural}"),
        group => format!("/apis/{group}/{version}/namespaces/{namespace}/{plural}"),
    }
}

fn failure(error: kube::Error) -> Failure {
    let kube::Error::Api(status) = error else { return Failure::Unanswered(error.to_string()) };
    let message = status.message.clone();
    match (status.code, status.reason.as_str()) {
        (409, "AlreadyExists") => Failure::Exists(message),
        (409, _) => Failure::Conflict(message),
        (404, _) => Failure::Missing(message),
        (403, _) if is_objection(&message) => Failure::Refused(message),
        // Quotas and permissions change without the object being touched.
        (403 | 429 | 503, _) => Failure::Unavailable(message),
        // Where its database did not answer in time, the server says 500 and does not know what became of a write.
        (500..=599, _) => Failure::Unanswered(message),
        _ => Failure::Refused(message),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn answered(code: u16, reason: &str) -> Failure {
        failure(kube::Error::Api(Box::new(Status::failure("no", reason).with_code(code))))
    }

    #[test]
    fn what_is_forbidden_today_may_be_allowed_tomorrow_and_what_is_invalid_stays_so() {
        assert!(matches!(answered(403, "Forbidden"), Failure::Unavailable(_)));
        let denied = Status::failure("webhook \"x\" denied the request", "Forbidden").with_code(403);
        assert!(matches!(failure(kube::Error::Api(Box::new(denied))), Failure::Refused(_)));
        assert!(matches!(answered(422, "Invalid"), Failure::Refused(_)));
        assert!(matches!(answered(413, "RequestEntityTooLarge"), Failure::Refused(_)));
    }

    #[test]
    fn a_name_that_is_taken_is_told_from_an_object_that_changed() {
        assert!(matches!(answered(409, "AlreadyExists"), Failure::Exists(_)));
        assert!(matches!(answered(409, "Conflict"), Failure::Conflict(_)));
    }

    #[test]
    fn only_a_server_that_says_it_did_nothing_is_believed_to_have_done_nothing() {
        assert!(matches!(answered(429, "TooManyRequests"), Failure::Unavailable(_)));
        assert!(matches!(answered(503, "ServiceUnavailable"), Failure::Unavailable(_)));
        assert!(matches!(answered(500, "InternalError"), Failure::Unanswered(_)));
        assert!(matches!(answered(504, "Timeout"), Failure::Unanswered(_)));
    }
}
