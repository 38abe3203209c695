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
        claims(&event.entry.value).map(|claim| Key::new(CLAIMS, key.namespace(), &claim)).collect()
    }

    async fn tend(&self, key: &Key) -> Result<(), Status> {
        let Some(entry) = self.0.store().get(key) else { return Ok(()) };
        if waits(&entry, CLAIM) && !is_claim_used(&self.0, &entry) {
            return release(&self.0, &entry, CLAIM).await;
        }
        if waits(&entry, VOLUME) && entry.value["status"]["phase"] != "Bound" {
            return release(&self.0, &entry, VOLUME).await;
        }
        Ok(())
    }
}

fn waits(entry: &Entry, finalizer: &str) -> bool {
    entry.value.is_deleting() && entry.value.has_finalizer(finalizer)
}

async fn release(api: &Api, entry: &Entry, finalizer: &str) -> Result<(), Status> {
    api.amend(&entry.key, None, |object: &mut Value| object.remove_finalizer(finalizer)).await
}

/// By a Pod that was given a node and has not ended.
fn is_claim_used(api: &Api, claim: &Entry) -> bool {
    let Some(namespace) = claim.key.namespace() else { return false };
    let pods = api.store().list(&Scope::namespace("pods", namespace)).entries;
    pods.iter().any(|pod| is_running(&pod.value) && claims(&pod.value).any(|it| it == claim.key.name()))
}

fn is_running(pod: &Value) -> bool {
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    pod["spec"]["nodeName"].is_string() && !matches!(phase, "Succeeded" | "Failed")
}

/// The claims that a Pod names, and those that are made for it.
fn claims(pod: &Value) -> impl Iterator<Item = String> {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    volumes.filter_map(|volume| match volume["persistentVolumeClaim"]["claimName"].as_str() {
        Some(claim) => Some(claim.to_owned()),
        None => volume
            .get("ephemeral")
            .map(|_| format!("{}-{}", pod.name(), volume["name"].as_str().unwrap_or_default())),
    })
}
