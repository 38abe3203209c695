//! ServiceAccount: every Pod runs as an account of its namespace, with a token where it expects one.

use serde_json::{Value, json};

use super::secret_reference::{References, check_references};
use super::{Target, forbidden};
use crate::field::Quoted;
use crate::identity::GroupKind;
use crate::pointer;
use crate::status::Status;
use crate::strategy::Cluster;

const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const VOLUME_PREFIX: &str = "kube-api-access-";
const MIRROR: &str = "kubernetes.io/config.mirror";

/// An hour and a bit, by which those are found who do not renew their tokens.
const TOKEN_SECONDS: i64 = 3607;

pub(super) fn mutate(
    target: Target<'_>,
    pod: &mut Value,
    cluster: &dyn Cluster,
    random: &mut dyn FnMut() -> String,
) -> Result<(), Status> {
    if is_mirror(pod) {
        return check(target, pod, cluster);
    }
    if pointer::text(pod, "/spec/serviceAccountName").is_empty() {
        pointer::set(pod, "/spec/serviceAccountName", "default");
        pointer::set(pod, "/spec/serviceAccount", "default");
    }
    let account = find(target, pod, cluster)?;
    if automounts(pod, &account) {
        mount_token(pod, random);
    }
    if pointer::list(pod, "/spec/imagePullSecrets").is_empty() {
        for secret in pointer::list(&account, "/imagePullSecrets") {
            pointer::push(pod, "/spec/imagePullSecrets", json!({"name": secret["name"]}));
        }
    }
    check(target, pod, cluster)
}

pub(super) fn check(target: Target<'_>, pod: &Value, cluster: &dyn Cluster) -> Result<(), Status> {
    if is_mirror(pod) {
        return check_mirror(pod).map_err(|why| forbidden(target, pod, why));
    }
    let account = find(target, pod, cluster)?;
    if restricts_secrets(&account) {
        check_references(&account, pod).map_err(|why| forbidden(target, pod, &why))?;
    }
    Ok(())
}

/// A Pod that only shows what a node runs by itself.
fn is_mirror(pod: &Value) -> bool {
    pod["metadata"]["annotations"].get(MIRROR).is_some()
}

/// Nodes cannot use the API to get what such a Pod would need.
fn check_mirror(pod: &Value) -> Result<(), &'static str> {
    if !pointer::text(pod, "/spec/serviceAccountName").is_empty() {
        return Err("a mirror pod may not reference service accounts");
    }
    if References::of(pod).any() {
        return Err("a mirror pod may not reference secrets");
    }
    let volumes = pointer::list(pod, "/spec/volumes").iter();
    let mut sources = volumes.flat_map(|volume| pointer::list(volume, "/projected/sources"));
    if sources.any(|source| pointer::said(source, "/serviceAccountToken").is_some()) {
        return Err("a mirror pod may not use ServiceAccountToken volume projections");
    }
    Ok(())
}

fn find(target: Target<'_>, pod: &Value, cluster: &dyn Cluster) -> Result<Value, Status> {
    let (namespace, name) = (target.namespace, pointer::text(pod, "/spec/serviceAccountName"));
    let unnamed = || {
        format!("no service account specified for pod {namespace}/{}", pointer::text(pod, "/metadata/name"))
    };
    if name.is_empty() {
        return Err(forbidden(target, pod, &unnamed()));
    }
    cluster.get(&GroupKind::new("", "ServiceAccount"), namespace, name).ok_or_else(|| {
        let missing = format!("serviceaccount {} not found", Quoted(name));
        forbidden(target, pod, &format!("error looking up service account {namespace}/{name}: {missing}"))
    })
}

/// The Pod has the first word, its account the second.
fn automounts(pod: &Value, account: &Value) -> bool {
    let said =
        [&pod["spec"], account].into_iter().find_map(|it| it["automountServiceAccountToken"].as_bool());
    said.unwrap_or(true)
}

fn restricts_secrets(account: &Value) -> bool {
    let said = account["metadata"]["annotations"]["kubernetes.io/enforce-mountable-secrets"].as_str();
    matches!(said, Some("1" | "t" | "T" | "true" | "TRUE" | "True"))
}

fn mount_token(pod: &mut Value, random: &mut dyn FnMut() -> String) {
    let mut volumes = pointer::list(pod, "/spec/volumes").iter().map(|volume| pointer::text(volume, "/name"));
    let known = volumes.find(|name| name.starts_with(VOLUME_PREFIX)).map(ToOwned::to_owned);
    let is_known = known.is_some();
    let name = known.unwrap_or_else(|| format!("{VOLUME_PREFIX}{}", random()));
    let mut is_mounted = false;
    for containers in ["/spec/initContainers", "/spec/containers"] {
        for container in pointer::list_mut(pod, containers) {
            let mut mounts = pointer::list(container, "/volumeMounts").iter();
            if !mounts.any(|mount| mount["mountPath"] == MOUNT_PATH) {
                let mount = json!({"name": name, "readOnly": true, "mountPath": MOUNT_PATH});
                pointer::push(container, "/volumeMounts", mount);
                is_mounted = true;
            }
        }
    }
    if is_mounted && !is_known {
        pointer::push(pod, "/spec/volumes", token_volume(&name));
    }
}

fn token_volume(name: &str) -> Value {
    json!({"name": name, "projected": {"defaultMode": 0o644, "sources": [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": TOKEN_SECONDS}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [
            {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
        ]}},
    ]}})
}
