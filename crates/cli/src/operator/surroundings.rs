//! Where the operator runs: in which namespace, on which host, and whether what it needs there exists.

use std::fs;

use kube::api::PostParams;
use kube::core::Request;
use kube::{Client, Error};
use serde_json::{Value, json};

const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The namespace of the Pod that we are, if we are one.
pub(super) fn own_namespace() -> Option<String> {
    let text = fs::read_to_string(NAMESPACE_FILE).ok()?;
    Some(text.trim().to_owned()).filter(|namespace| !namespace.is_empty())
}

/// The namespace in which things of ours are kept, wherever we run.
pub(super) fn home() -> String {
    own_namespace().unwrap_or_else(|| asb_types::crd::WEBHOOK_NAMESPACE.to_owned())
}

/// The name of the Pod, or of the machine.
pub(super) fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Some(name.trim()).filter(|name| !name.is_empty()).unwrap_or("asb").to_owned()
}

/// A name that no other process has.
pub(super) fn identity() -> String {
    format!("{}_{}", host_name(), uuid::Uuid::new_v4())
}

/// Makes a namespace that is missing, where we may. Whoever needs it says so if it is not there.
pub(super) async fn prepare(client: &Client, namespace: &str) {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    let request =
        Request::new("/api/v1/namespaces").create(&PostParams::default(), object.to_string().into_bytes());
    let Ok(request) = request else { return };
    match client.request::<Value>(request).await {
        Ok(_) => tracing::info!(namespace, "made the namespace"),
        Err(Error::Api(status)) if [403, 409].contains(&status.code) => {}
        Err(error) => tracing::warn!(namespace, %error, "cannot tell whether the namespace is there"),
    }
}
