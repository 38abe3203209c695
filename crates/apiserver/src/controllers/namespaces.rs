//! Empties a namespace that is being deleted, and lets it go when nothing is left.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::driver::Controller;
use crate::api::Api;
use crate::object::{child, time};
use crate::options::{DeleteOptions, Propagation};
use crate::status::Status;
use crate::store::{Entry, Event, EventKind, Key, Scope};

/// What keeps a namespace until it is empty.
const FINALIZER: &str = "kubernetes";

pub(super) struct Namespaces(pub Arc<Api>);

impl Controller for Namespaces {
    const NAME: &'static str = "namespaces";
    const RESOURCES: &'static [&'static str] = &[];
    /// The name of a namespace.
    type Item = String;

    fn api(&self) -> &Api {
        &self.0
    }

    fn all(&self) -> Vec<String> {
        let namespaces = self.0.store().list(&Scope::resource("namespaces")).entries;
        namespaces.iter().map(|entry| entry.key.name().to_owned()).collect()
    }

    /// One that changed, or one that lost an object.
    fn touched(&self, event: &Event) -> Vec<String> {
        let key = &event.entry.key;
        let name = match key.namespace() {
            None if key.resource() == "namespaces" => Some(key.name()),
            Some(namespace) if event.kind == EventKind::Deleted => Some(namespace),
            _ => None,
        };
        name.map(str::to_owned).into_iter().collect()
    }

    async fn tend(&self, name: &String) -> Result<(), Status> {
        let key = Key::new("namespaces", None, name);
        let Some(entry) = self.0.store().get(&key) else { return Ok(()) };
        if !entry.summary.is_deleting || !has_finalizer(&entry.value()) {
            return Ok(());
        }
        empty(&self.0, &entry).await
    }
}

async fn empty(api: &Api, namespace: &Entry) -> Result<(), Status> {
    let name = namespace.key.name();
    let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
    let mut outcome = Ok(());
    for object in content(api, name) {
        outcome = outcome.and(api.remove(&object.key, &options).await);
    }
    // Nothing comes into a namespace that is marked, so what is not here now never will be.
    let left = content(api, name);
    if left.is_empty() {
        return api.amend_seen(namespace, Some("finalize"), drop_finalizer).await;
    }
    let now = time(api.now());
    let report = |namespace: &mut Value| report(namespace, &left, &now);
    outcome.and(api.amend(&namespace.key, Some("status"), report).await)
}

/// Says in the status of a namespace what keeps it.
fn report(namespace: &mut Value, left: &[Arc<Entry>], now: &str) {
    let remaining = counted(left.iter().map(|entry| format!("{}.", entry.key.resource())));
    let remaining: Vec<String> =
        remaining.iter().map(|(what, count)| format!("{what} has {count} resource instances")).collect();
    let finalizers = counted(left.iter().flat_map(|entry| entry.summary.finalizers()).map(str::to_owned));
    let finalizers: Vec<String> =
        finalizers.iter().map(|(what, count)| format!("{what} in {count} resource instances")).collect();
    let remain = format!("Some resources are remaining: {}", remaining.join(", "));
    let hold = format!("Some content in the namespace has finalizers remaining: {}", finalizers.join(", "));
    let is_held = !finalizers.is_empty();
    let conditions = [
        (
            "NamespaceDeletionDiscoveryFailure",
            false,
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            false,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            false,
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        ("NamespaceContentRemaining", true, "SomeResourcesRemain", remain.as_str()),
        (
            "NamespaceFinalizersRemaining",
            is_held,
            if is_held { "SomeFinalizersRemain" } else { "ContentHasNoFinalizers" },
            if is_held { hold.as_str() } else { "All content-preserving finalizers finished" },
        ),
    ];
    let before = namespace["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let conditions: Vec<Value> = conditions.iter().map(|it| condition(*it, &before, now)).collect();
    child(namespace, "status").insert("conditions".to_owned(), conditions.into());
}

/// A condition that says what it said before keeps the time at which it began to.
fn condition((kind, holds, reason, message): (&str, bool, &str, &str), before: &[Value], now: &str) -> Value {
    let status = if holds { "True" } else { "False" };
    let same = before.iter().find(|it| it["type"] == kind && it["status"] == status);
    let since = same.map_or(now, |it| it["lastTransitionTime"].as_str().unwrap_or(now));
    json!({"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message})
}

fn counted(names: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    names.fold(BTreeMap::new(), |mut counts, name| {
        *counts.entry(name).or_default() += 1;
        counts
    })
}

/// Objects in a namespace that nobody has asked to go yet, and those that take their time.
fn content(api: &Api, namespace: &str) -> Vec<Arc<Entry>> {
    let registry = api.registry();
    let resources = registry.stored().filter(|resource| resource.is_namespaced);
    resources.flat_map(|it| api.store().list(&it.scope(Some(namespace))).entries).collect()
}

fn has_finalizer(namespace: &Value) -> bool {
    namespace["spec"]["finalizers"]
        .as_array()
        .is_some_and(|finalizers| finalizers.iter().any(|it| it == FINALIZER))
}

fn drop_finalizer(namespace: &mut Value) {
    if let Some(finalizers) = namespace["spec"]["finalizers"].as_array_mut() {
        finalizers.retain(|it| it != FINALIZER);
    }
}
