//! The `token` subresource of ServiceAccounts: what may be asked for, and the token that comes of it.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use super::Tokens;
use super::claims::{Claims, Reference};
use super::liveness::{Object, Objects};
use crate::field::Error;
use crate::identity::{GroupKind, GroupResource, group_version};
use crate::security::json::{at, text, texts};
use crate::status::Status;

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";
const HOUR: i64 = 60 * 60;
const SHORTEST: i64 = 10 * 60;
const LONGEST: i64 = 1 << 32;
/// The lifetime that Pods get whose authors asked for none. Programs from before tokens expired may not read theirs again,
/// so that such a token lives longer than it says, and warns instead.
const WARN_ONLY: i64 = HOUR + 7;
const EXTENDED: i64 = 365 * 24 * HOUR;

/// The ServiceAccount that a token is for, as the path of the request names it.
#[derive(Clone, Copy, Debug)]
pub struct ServiceAccount<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
}

/// What a token stands and falls with.
#[derive(Default)]
struct Bound {
    pod: Option<Reference>,
    secret: Option<Reference>,
    node: Option<Reference>,
}

impl Tokens {
    /// Answers a TokenRequest with a token. `id` becomes the token's own.
    pub fn issue(
        &self,
        request: &Value,
        subject: ServiceAccount<'_>,
        objects: &impl Objects,
        now: Timestamp,
        id: Uuid,
    ) -> Result<Value, Status> {
        check_metadata(request, subject)?;
        let account = found(objects, "serviceaccounts", subject.namespace, subject.name)?;
        check_uid(request, subject, &account)?;
        let seconds = lifetime(request)?;
        let bound = bind(request, subject, objects)?;
        let audiences = match texts(request, &["spec", "audiences"]) {
            none if none.is_empty() => self.audiences.clone(),
            audiences => audiences,
        };
        let account = Reference::new(subject.name, &account.uid);
        let claims = self.claims(subject.namespace, account, bound, &audiences, seconds, now, id);
        let token = self.key.sign(&claims.to_json());
        let token = token.ok_or_else(|| Status::internal("failed to generate token: signing failed"))?;
        Ok(answer(request, &claims, audiences, seconds, now, &token))
    }

    #[expect(clippy::too_many_arguments, reason = "each is a claim of its own")]
    fn claims(
        &self,
        namespace: &str,
        account: Reference,
        bound: Bound,
        audiences: &[String],
        seconds: i64,
        now: Timestamp,
        id: Uuid,
    ) -> Claims {
        let own = audiences.iter().all(|audience| self.audiences.contains(audience));
        let extended = bound.pod.is_some() && seconds == WARN_ONLY && own;
        let start = now.as_second();
        Claims {
            id: id.to_string(),
            issuer: self.issuer.clone(),
            audiences: audiences.to_vec(),
            issued: start,
            not_before: start,
            expires: start + if extended { EXTENDED } else { seconds },
            warn_after: extended.then_some(start + seconds),
            namespace: namespace.to_owned(),
            account,
            pod: bound.pod,
            secret: bound.secret,
            node: bound.node,
        }
    }
}

fn check_metadata(request: &Value, subject: ServiceAccount<'_>) -> Result<(), Status> {
    let (namespace, name) = (text(request, &["metadata", "namespace"]), text(request, &["metadata", "name"]));
    if !name.is_empty() && name != subject.name {
        let why = "must match the service account name if specified";
        return Err(invalid(subject.name, Error::invalid("metadata.name", name, why)));
    }
    if !namespace.is_empty() && namespace != subject.namespace {
        let why = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Status::bad_request(why));
    }
    Ok(())
}

fn check_uid(request: &Value, subject: ServiceAccount<'_>, account: &Object) -> Result<(), Status> {
    let (wanted, uid) = (text(request, &["metadata", "uid"]), &account.uid);
    if wanted.is_empty() || wanted == uid {
        return Ok(());
    }
    let why = format!(
        "the UID in the token request ({wanted}) does not match the UID of the service account ({uid})"
    );
    Err(Status::conflict(&GroupResource::new(GROUP, KIND), subject.name, &why))
}

fn lifetime(request: &Value) -> Result<i64, Status> {
    let seconds = at(request, &["spec", "expirationSeconds"]);
    let seconds = seconds.map_or(HOUR, |seconds| seconds.as_i64().unwrap_or(i64::MAX));
    let why = match seconds {
        ..SHORTEST => "may not specify a duration less than 10 minutes",
        SHORTEST..=LONGEST => return Ok(seconds),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    Err(invalid("", Error::invalid("spec.expirationSeconds", seconds, why)))
}

fn bind(request: &Value, subject: ServiceAccount<'_>, objects: &impl Objects) -> Result<Bound, Status> {
    let Some(wanted) = at(request, &["spec", "boundObjectRef"]) else { return Ok(Bound::default()) };
    let (group, version) = written_group_version(text(wanted, &["apiVersion"]));
    let (kind, name) = (text(wanted, &["kind"]), text(wanted, &["name"]));
    let (resource, namespace) = match (group, kind) {
        ("", "Pod") => ("pods", subject.namespace),
        ("", "Secret") => ("secrets", subject.namespace),
        ("", "Node") => ("nodes", ""),
        _ => {
            let message = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(Status::bad_request(message));
        }
    };
    let object = found(objects, resource, namespace, name)?;
    if kind == "Pod" && object.service_account != subject.name {
        let name = crate::field::Quoted(subject.name);
        let message = format!(
            "cannot bind token for serviceaccount {name} to pod running with different serviceaccount name."
        );
        return Err(Status::bad_request(message));
    }
    check_reference(wanted, kind, name, &object)?;
    let reference = Some(Reference::new(name, &object.uid));
    Ok(match kind {
        "Pod" => Bound { pod: reference, node: node_of(&object, objects), secret: None },
        "Secret" => Bound { secret: reference, ..Bound::default() },
        _ => Bound { node: reference, ..Bound::default() },
    })
}

fn check_reference(wanted: &Value, kind: &str, name: &str, object: &Object) -> Result<(), Status> {
    let uid = text(wanted, &["uid"]);
    if uid.is_empty() || uid == object.uid {
        return Ok(());
    }
    let why = format!(
        "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been \
         deleted and then recreated"
    );
    Err(Status::conflict(&GroupResource::new("", kind), name, &why))
}

/// Of a node that does not exist, its name is all there is.
fn node_of(pod: &Object, objects: &impl Objects) -> Option<Reference> {
    let name = pod.node.as_str();
    let uid = || objects.find("nodes", "", name).map(|node| node.uid).unwrap_or_default();
    (!name.is_empty()).then(|| Reference::new(name, &uid()))
}

/// What is not a group and a version is neither, as in the real server.
fn written_group_version(api_version: &str) -> (&str, &str) {
    if api_version.matches('/').count() > 1 { ("", "") } else { group_version(api_version) }
}

fn found(objects: &impl Objects, resource: &str, namespace: &str, name: &str) -> Result<Object, Status> {
    if name.is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    let missing = || Status::not_found(&GroupResource::new("", resource), name);
    objects.find(resource, namespace, name).ok_or_else(missing)
}

fn invalid(name: &str, error: Error) -> Status {
    Status::invalid(&GroupKind::new(GROUP, KIND), name, &[error])
}

/// The status tells the lifetime that was asked for, even where the token lives longer.
fn answer(
    request: &Value,
    claims: &Claims,
    audiences: Vec<String>,
    seconds: i64,
    now: Timestamp,
    token: &str,
) -> Value {
    let metadata = at(request, &["metadata"]).filter(|metadata| metadata.is_object());
    let mut metadata = metadata.cloned().unwrap_or_else(|| json!({}));
    metadata["name"] = claims.account.name.as_str().into();
    metadata["namespace"] = claims.namespace.as_str().into();
    metadata["uid"] = claims.account.uid.as_str().into();
    metadata["creationTimestamp"] = in_seconds(now).into();
    let expires = now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
    json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": KIND,
        "metadata": metadata,
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": at(request, &["spec", "boundObjectRef"]),
        },
        "status": {"token": token, "expirationTimestamp": in_seconds(expires)},
    })
}

pub(super) fn in_seconds(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}
