//! Lets claims and volumes go when nobody uses them. Until then a finalizer keeps them.

use std::sync::Arc;

use serde_json::Value;

use super::driver::Controller;
use crate::api::Api;
use crate::object::Object;
use crate::status::Status;
use crate::store::{Entry, Event, Key, Scope};

const CLAIMS: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";

/// The finalizers.
const CLAIM: &str = "kubernetes.io/pvc-protection";
const VOLUME: &str = "kubernetes.io/pv-protection";

pub(super) struct Volumes(pub Arc<Api>);

impl Controller for Volumes {
    const NAME: &'static str = "volumes";
    const RESOURCES: &'static [&'static str] = &[CLAIMS, VOLUMES, "pods"];
    /// A claim or a volume.
    type Item = Key;

    fn api(&self) -> &Api {
        &self.0
    }

    fn all(&self) -> Vec<Key> {
        let of = |resource| self.0.store().list(&Scope::resource(resource)).entries;
        of(CLAIMS).iter().chain(&of(VOLUMES)).map(|entry| entry.key.clone()).collect()
    }

    fn touched(&self, event: &Event) -> Vec<Key> {
        let key = &event.entry.key;
        if key.resource() != "pods" {
            return vec![key.clone()];
        }
        claims(&event.entry).iter().map(|claim| Key::new(CLAIMS, key.namespace(), claim)).collect()
    }

    async fn tend(&self, key: &Key) -> Result<(), Status> {
        let Some(entry) = self.0.store().get(key) else { return Ok(()) };
        if waits(&entry, CLAIM) && !is_claim_used(&self.0, &entry) {
            return release(&self.0, &entry, CLAIM).await;
        }
        if waits(&entry, VOLUME) && entry.text.at("/status/phase") != Some("Bound".into()) {
            return release(&self.0, &entry, VOLUME).await;
        }
        Ok(())
    }
}

fn waits(entry: &Entry, finalizer: &str) -> bool {
    entry.summary.is_deleting && entry.summary.has_finalizer(finalizer)
}

async fn release(api: &Api, entry: &Entry, finalizer: &str) -> Result<(), Status> {
    api.amend(&entry.key, None, |object: &mut Value| object.remove_finalizer(finalizer)).await
}

/// By a Pod that was given a node and has not ended.
fn is_claim_used(api: &Api, claim: &Entry) -> bool {
    let Some(namespace) = claim.key.namespace() else { return false };
    let pods = api.store().list(&Scope::namespace("pods", namespace)).entries;
    let uses = |pod: &Entry| claims(pod).iter().any(|used| used == claim.key.name());
    pods.iter().any(|pod| uses(pod) && is_running(pod))
}

fn is_running(pod: &Entry) -> bool {
    let phase = pod.text.at("/status/phase");
    let has_ended = matches!(phase.as_ref().and_then(Value::as_str), Some("Succeeded" | "Failed"));
    !has_ended && pod.text.at("/spec/nodeName").is_some_and(|node| node.is_string())
}

/// The claims that a Pod names, and those that are made for it.
fn claims(pod: &Entry) -> Vec<String> {
    let volumes = pod.text.at("/spec/volumes");
    let volumes = volumes.iter().filter_map(Value::as_array).flatten();
    let claim = |volume: &Value| match volume["persistentVolumeClaim"]["claimName"].as_str() {
        Some(claim) => Some(claim.to_owned()),
        None => volume
            .get("ephemeral")
            .map(|_| format!("{}-{}", pod.key.name(), volume["name"].as_str().unwrap_or_default())),
    };
    volumes.filter_map(claim).collect()
}
