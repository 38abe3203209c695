//! Gives every namespace its default ServiceAccount and the certificate of the cluster's authority, which Pods mount.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::Controller;
use crate::api::{Api, default_account};
use crate::store::{Event, Key, Scope};

pub(super) struct ServiceAccounts {
    pub api: Arc<Api>,
    /// The certificate, as PEM.
    pub authority: String,
}

impl Controller for ServiceAccounts {
    const RESOURCES: &'static [&'static str] = &["configmaps", "namespaces", "serviceaccounts"];

    fn api(&self) -> &Api {
        &self.api
    }

    async fn begin(&self) {
        let namespaces = self.api.store().list(&Scope::resource("namespaces")).entries;
        let names = namespaces.iter().map(|entry| entry.key.name().to_owned()).collect();
        work(&self.api, &self.authority, names).await;
    }

    async fn take(&self, events: Vec<Event>) {
        work(&self.api, &self.authority, events.iter().filter_map(concerned).collect()).await;
    }
}

fn concerned(event: &Event) -> Option<String> {
    let key = &event.entry.key;
    match (key.resource(), key.name()) {
        ("namespaces", name) => Some(name.to_owned()),
        ("serviceaccounts", "default") | ("configmaps", "kube-root-ca.crt") => {
            key.namespace().map(str::to_owned)
        }
        _ => None,
    }
}

async fn work(api: &Api, authority: &str, namespaces: BTreeSet<String>) {
    for namespace in namespaces {
        let entry = api.store().get(&Key::new("namespaces", None, &namespace));
        if entry.is_none_or(|entry| entry.summary.is_deleting) {
            continue;
        }
        let wanted = [
            ("serviceaccounts", default_account(&namespace)),
            ("configmaps", certificate(&namespace, authority)),
        ];
        for (plural, object) in wanted {
            if let Err(status) = api.ensure(plural, "", object).await {
                tracing::warn!(namespace, plural, error = %status, "a namespace lacks what Pods need");
            }
        }
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
