//! The headless Service of a Sandbox: made, adopted, kept in shape or removed, as `spec.service` says. Unset means that
//! one which is there already goes on being used.

use asb_types::labels::SANDBOX_NAME_HASH;
use asb_types::names;
use serde_json::{Map, Value, json};

use super::observed::Observed;
use super::plan::Step;
use super::refusal::{Refusal, Thing};
use super::{adoption, service_ports};
use crate::object::Ownership;
use crate::patch;
use crate::views::ServiceView;
use crate::write::{Deleting, Kind, Target, Write};

/// How Kubernetes spells "no address of its own".
const HEADLESS: &str = "None";

pub(super) fn plan(observed: &Observed) -> Step {
    let wanted = observed.sandbox.service;
    let Some(service) = observed.service.as_deref() else {
        return (wanted == Some(true)).then(|| create(observed)).into();
    };
    match (service.metadata.ownership(observed.uid()), wanted) {
        (Ownership::Ours, Some(false)) if service.metadata.is_deleting() => Step::default(),
        (Ownership::Ours, Some(false)) => {
            Step::write(Write::delete(Kind::Service, &service.metadata, Deleting::Background))
        }
        (Ownership::Ours, _) => update(observed, service),
        (Ownership::Nobodys, Some(true)) => adopt(observed, service),
        (Ownership::Nobodys, _) | (Ownership::Anothers(_), Some(false)) => Step::default(),
        (Ownership::Anothers(owner), _) => {
            Step::refuse(Refusal::owned(Thing::Service, &service.metadata, owner, &observed.sandbox))
        }
    }
}

/// The Service that clients may be told of, if there is one.
pub(super) fn in_use(observed: &Observed) -> Option<&ServiceView> {
    let service = observed.service.as_deref()?;
    let is_wanted = observed.sandbox.service != Some(false);
    (is_wanted && service.metadata.is_owned_by(observed.uid())).then_some(service)
}

/// Whether the Sandbox is Ready only with a Service.
pub(super) fn is_required(observed: &Observed) -> bool {
    observed.sandbox.service == Some(true) || in_use(observed).is_some()
}

fn create(observed: &Observed) -> Write {
    let key = observed.sandbox.metadata.key.sibling(&names::service(observed.name()));
    let mut spec = json!({"clusterIP": HEADLESS, "selector": selector(observed)});
    let ports = service_ports::derive(&observed.sandbox.pod.spec.value());
    if !ports.is_null() {
        spec["ports"] = ports;
    }
    let object = json!({
        "apiVersion": Kind::Service.api_version(),
        "kind": Kind::Service.name(),
        "metadata": {
            "name": &*key.name,
            "namespace": &*key.namespace,
            "labels": selector(observed),
            "ownerReferences": [adoption::reference(observed)],
        },
        "spec": spec,
    });
    Write::Create { target: Target::new(Kind::Service, key), object }
}

/// The one label that leads to the Pod, on the Service itself too.
fn selector(observed: &Observed) -> Value {
    json!({SANDBOX_NAME_HASH: observed.name_hash()})
}

fn update(observed: &Observed, service: &ServiceView) -> Step {
    let body = drift(observed, service);
    (!body.is_empty()).then(|| Write::patch(Kind::Service, &service.metadata, Value::Object(body))).into()
}

fn adopt(observed: &Observed, service: &ServiceView) -> Step {
    let name = service.metadata.name();
    if !adoption::is_allowed(observed, &service.metadata) {
        return Step::refuse(Refusal::unadoptable(Thing::Service, &service.metadata));
    }
    if !service.cluster_ip.is_empty() && service.cluster_ip != HEADLESS {
        let cluster_ip = service.cluster_ip.clone();
        return Step::refuse(Refusal::NotHeadless { name: name.to_owned(), cluster_ip });
    }
    let mut body = Value::Object(drift(observed, service));
    body["metadata"]["ownerReferences"] = adoption::references(observed, &service.metadata);
    Step::write(Write::patch(Kind::Service, &service.metadata, body).locked(service.metadata.version))
}

/// What a Service that is or becomes ours lacks. Its ports are ours to say only where the Sandbox asks for a Service.
fn drift(observed: &Observed, service: &ServiceView) -> Map<String, Value> {
    let mut body = Map::new();
    if !adoption::is_tracked(observed, &service.metadata) {
        body.insert("metadata".to_owned(), json!({"labels": selector(observed)}));
    }
    let mut spec = Map::new();
    if let Some(change) = patch::difference(&json!(service.selector), &selector(observed)) {
        spec.insert("selector".to_owned(), change);
    }
    if observed.sandbox.service == Some(true) {
        let ports = service_ports::derive(&observed.sandbox.pod.spec.value());
        if !service_ports::are_same(&service.ports.value(), &ports) {
            spec.insert("ports".to_owned(), ports);
        }
    }
    if !spec.is_empty() {
        body.insert("spec".to_owned(), Value::Object(spec));
    }
    body
}
