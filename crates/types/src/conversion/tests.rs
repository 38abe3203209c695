//! Objects in both versions, for round trips over arbitrary ones and for those of which somebody once asked.

mod examples;
mod ours;
mod properties;

use serde_json::{Value, json};

use super::{Version, convert};
use crate::annotations::{v1alpha1_state, v1beta1_state};
use crate::{EXTENSIONS_GROUP, GROUP};

fn up(object: &Value) -> Value {
    convert(object.clone(), Version::V1beta1).expect("converts to v1beta1")
}

fn down(object: &Value) -> Value {
    convert(object.clone(), Version::V1alpha1).expect("converts to v1alpha1")
}

fn object(group: &str, version: &str, kind: &str, spec: Value, status: Option<Value>) -> Value {
    let mut object = json!({
        "apiVersion": format!("{group}/{version}"), "kind": kind,
        "metadata": {"name": "demo", "labels": {"team": "a"}, "annotations": {"note": "mine"}}, "spec": spec,
    });
    if let Some(status) = status {
        object["status"] = status;
    }
    object
}

fn claim(version: &str, spec: Value) -> Value {
    object("extensions.agents.x-k8s.io", version, "SandboxClaim", spec, None)
}

fn sandbox(version: &str, spec: Value, status: Value) -> Value {
    object("agents.x-k8s.io", version, "Sandbox", spec, Some(status))
}
