//! What is written: ConfigMaps and Sandboxes of a size that is usual, in a namespace of the round's own.

use anyhow::Result;
use serde_json::json;

use crate::connection::{Call, Connection};

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    ConfigMap,
    Sandbox,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Sandbox => "Sandbox",
        }
    }

    pub(crate) fn path(self, namespace: &str) -> String {
        match self {
            Self::ConfigMap => format!("/api/v1/namespaces/{namespace}/configmaps"),
            Self::Sandbox => format!("/apis/agents.x-k8s.io/v1beta1/namespaces/{namespace}/sandboxes"),
        }
    }

    pub(crate) fn create(self, namespace: &str, name: &str) -> Call {
        let body = match self {
            Self::ConfigMap => config_map(name),
            Self::Sandbox => sandbox(name),
        };
        Call::create(&self.path(namespace), body)
    }
}

/// About a kilobyte.
fn config_map(name: &str) -> String {
    let data: serde_json::Map<_, _> =
        (0..8).map(|key| (format!("key-{key}"), "a value of some length, ".repeat(4).into())).collect();
    let metadata = json!({"name": name, "labels": {"app": "load"}});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}).to_string()
}

fn sandbox(name: &str) -> String {
    let container = json!({
        "name": "main",
        "image": "registry.example/agents/runtime:1.2.3",
        "command": ["/usr/bin/agent", "--listen", ":8080"],
        "env": [{"name": "HOME", "value": "/work"}, {"name": "MODE", "value": "interactive"}],
        "ports": [{"name": "http", "containerPort": 8080}],
        "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        "volumeMounts": [{"name": "work", "mountPath": "/work"}],
    });
    let pod = json!({"containers": [container], "volumes": [{"name": "work", "emptyDir": {}}]});
    let metadata = json!({"name": name, "labels": {"app": "load"}});
    let spec = json!({"podTemplate": {"metadata": {"labels": {"app": "load"}}, "spec": pod}});
    json!({"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "metadata": metadata, "spec": spec})
        .to_string()
}

/// Makes a namespace that nobody had before.
pub(crate) async fn namespace(connection: &mut Connection, name: &str) -> Result<()> {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    connection.call(&Call::create("/api/v1/namespaces", body.to_string())).await.map(drop)
}
