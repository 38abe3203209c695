//! The Secrets that a Pod names, and whether its account lets it: accounts can be restricted to Secrets that they list.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::pointer::{list, text};

/// Fields of volumes that name a Secret.
const VOLUMES: [&str; 10] = [
    "/azureFile/secretName",
    "/cephfs/secretRef/name",
    "/cinder/secretRef/name",
    "/flexVolume/secretRef/name",
    "/rbd/secretRef/name",
    "/secret/secretName",
    "/scaleIO/secretRef/name",
    "/iscsi/secretRef/name",
    "/storageos/secretRef/name",
    "/csi/nodePublishSecretRef/name",
];

/// Everything in a Pod that names a Secret.
pub(super) struct References<'a>(&'a Value);

impl<'a> References<'a> {
    pub(super) fn of(pod: &'a Value) -> Self {
        Self(pod)
    }

    pub(super) fn any(&self) -> bool {
        let lists = ["/spec/initContainers", "/spec/containers", "/spec/ephemeralContainers"];
        let mut containers = lists.into_iter().flat_map(|at| list(self.0, at));
        let mut volumes = list(self.0, "/spec/volumes").iter();
        list(self.0, "/spec/imagePullSecrets").iter().any(|secret| !text(secret, "/name").is_empty())
            || containers.any(|container| by_container(container).any(|(_, secret)| !secret.is_empty()))
            || volumes.any(|volume| by_volume(volume).any(|secret| !secret.is_empty()))
    }
}

fn by_volume(volume: &Value) -> impl Iterator<Item = &str> {
    let projected = list(volume, "/projected/sources").iter().map(|source| text(source, "/secret/name"));
    VOLUMES.into_iter().map(|at| text(volume, at)).chain(projected)
}

/// Secrets that a container names, with the words for how.
fn by_container(container: &Value) -> impl Iterator<Item = (String, &str)> {
    let variables = list(container, "/env").iter().filter_map(|variable| {
        let secret = variable.pointer("/valueFrom/secretKeyRef")?;
        Some((format!("envVar {}", text(variable, "/name")), text(secret, "/name")))
    });
    let all = list(container, "/envFrom").iter().filter_map(|source| source.get("secretRef"));
    variables.chain(all.map(|secret| ("envFrom".to_owned(), text(secret, "/name"))))
}

/// Says which reference is not allowed.
pub(super) fn check_references(account: &Value, pod: &Value) -> Result<(), String> {
    let (allowed, owner) = (names(account, "/secrets"), text(account, "/metadata/name"));
    for volume in list(pod, "/spec/volumes").iter().filter_map(|volume| volume.get("secret")) {
        let secret = text(volume, "/secretName");
        if !allowed.contains(secret) {
            let how = format!("volume with secret.secretName=\"{secret}\"");
            return Err(format!(
                "{how} is not allowed because service account {owner} does not reference that secret"
            ));
        }
    }
    check_containers(account, list(pod, "/spec/initContainers"), "init container")?;
    check_containers(account, list(pod, "/spec/containers"), "container")?;
    check_pull_secrets(account, pod)
}

fn check_containers(account: &Value, containers: &[Value], what: &str) -> Result<(), String> {
    let (allowed, owner) = (names(account, "/secrets"), text(account, "/metadata/name"));
    for container in containers {
        let refused = by_container(container).find(|(_, secret)| !allowed.contains(secret));
        if let Some((how, secret)) = refused {
            let name = text(container, "/name");
            return Err(format!(
                "{what} {name} with {how} referencing secret.secretName=\"{secret}\" is not allowed because service \
                 account {owner} does not reference that secret"
            ));
        }
    }
    Ok(())
}

fn check_pull_secrets(account: &Value, pod: &Value) -> Result<(), String> {
    let (allowed, owner) = (names(account, "/imagePullSecrets"), text(account, "/metadata/name"));
    for (index, secret) in list(pod, "/spec/imagePullSecrets").iter().enumerate() {
        let secret = text(secret, "/name");
        if !allowed.contains(secret) {
            return Err(format!(
                "imagePullSecrets[{index}].name=\"{secret}\" is not allowed because service account {owner} does not \
                 reference that imagePullSecret"
            ));
        }
    }
    Ok(())
}

fn names<'a>(account: &'a Value, at: &str) -> BTreeSet<&'a str> {
    list(account, at).iter().map(|secret| text(secret, "/name")).collect()
}
