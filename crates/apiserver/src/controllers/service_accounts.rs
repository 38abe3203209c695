//! Gives every namespace its default ServiceAccount and the certificate of the cluster's authority, which Pods mount.

use std::sync::Arc;

use serde_json::{Value, json};

use super::driver::Controller;
use crate::api::{Api, default_account};
use crate::status::Status;
use crate::store::{Event, Key, Scope};

pub(super) struct ServiceAccounts {
    pub api: Arc<Api>,
    /// The certificate, as PEM.
    pub authority: String,
}

impl Controller for ServiceAccounts {
    const NAME: &'static str = "service accounts";
    const RESOURCES: &'static [&'static str] = &["configmaps", "namespaces", "serviceaccounts"];
    /// The name of a namespace.
    type Item = String;

    fn api(&self) -> &Api {
        &self.api
    }

    fn all(&self) -> Vec<String> {
        let namespaces = self.api.store().list(&Scope::resource("namespaces")).entries;
        namespaces.iter().map(|entry| entry.key.name().to_owned()).collect()
    }

    fn touched(&self, event: &Event) -> Vec<String> {
        let key = &event.entry.key;
        let namespace = match (key.resource(), key.name()) {
            ("namespaces", name) => Some(name),
            ("serviceaccounts", "default") | ("configmaps", "kube-root-ca.crt") => key.namespace(),
            _ => None,
        };
        namespace.map(str::to_owned).into_iter().collect()
    }

    async fn tend(&self, namespace: &String) -> Result<(), Status> {
        let entry = self.api.store().get(&Key::new("namespaces", None, namespace));
        if entry.is_none_or(|entry| entry.summary.is_deleting) {
            return Ok(());
        }
        let account = self.api.ensure("serviceaccounts", "", default_account(namespace)).await;
        account.and(self.api.ensure("configmaps", "", certificate(namespace, &self.authority)).await)
    }
}

fn certificate(namespace: &str, authority: &str) -> Value {
    let description = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints \
                       such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across \
                       distributions of Kubernetes clusters.";
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "kube-root-ca.crt",
            "namespace": namespace,
            "annotations": {"kubernetes.io/description": description},
        },
        "data": {"ca.crt": authority},
    })
}
