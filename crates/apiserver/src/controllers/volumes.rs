//! Lets claims and volumes go when nobody uses them. Until then a finalizer keeps them.

use std::sync::Arc;

use serde_json::Value;

use super::Controller;
use crate::api::Api;
use crate::object::Object;
use crate::store::{Entry, Scope};

const CLAIM: &str = "kubernetes.io/pvc-protection";
const VOLUME: &str = "kubernetes.io/pv-protection";

pub(super) struct Volumes(pub Arc<Api>);

impl Controller for Volumes {
    const RESOURCES: &'static [&'static str] = &["persistentvolumeclaims", "persistentvolumes", "pods"];

    fn api(&self) -> &Api {
        &self.0
    }

    async fn begin(&self) {
        work(&self.0).await;
    }
}

async fn work(api: &Api) {
    let claims = api.store().list(&Scope::resource("persistentvolumeclaims")).entries;
    for claim in claims.iter().filter(|claim| waits(claim, CLAIM)) {
        if !is_claim_used(api, claim) {
            release(api, claim, CLAIM).await;
        }
    }
    let volumes = api.store().list(&Scope::resource("persistentvolumes")).entries;
    for volume in volumes.iter().filter(|volume| waits(volume, VOLUME)) {
        if volume.text.at("/status/phase") != Some("Bound".into()) {
            release(api, volume, VOLUME).await;
        }
    }
}

fn waits(entry: &Entry, finalizer: &str) -> bool {
    entry.summary.is_deleting && entry.summary.has_finalizer(finalizer)
}

async fn release(api: &Api, entry: &Entry, finalizer: &str) {
    let drop = |object: &mut Value| object.remove_finalizer(finalizer);
    if let Err(status) = api.amend(&entry.key, None, drop).await {
        tracing::warn!(key = %entry.key, error = %status, "a volume could not be let go");
    }
}

/// By a Pod that was given a node and has not ended.
fn is_claim_used(api: &Api, claim: &Entry) -> bool {
    let Some(namespace) = claim.key.namespace() else { return false };
    let pods = api.store().list(&Scope::namespace("pods", namespace)).entries;
    pods.iter().map(|pod| pod.value()).any(|pod| is_running(&pod) && uses(&pod, claim.key.name()))
}

fn is_running(pod: &Value) -> bool {
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    pod["spec"]["nodeName"].is_string() && !matches!(phase, "Succeeded" | "Failed")
}

fn uses(pod: &Value, claim: &str) -> bool {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let mut volumes = volumes.map(|volume| {
        let ephemeral = volume.get("ephemeral").is_some();
        let named = volume["persistentVolumeClaim"]["claimName"].as_str() == Some(claim);
        named
            || ephemeral && claim == format!("{}-{}", pod.name(), volume["name"].as_str().unwrap_or_default())
    });
    volumes.any(|uses| uses)
}
