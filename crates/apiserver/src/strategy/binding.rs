//! Gives a Pod its node, as a scheduler asks for it.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::pod::set_condition;
use crate::field;
use crate::identity::GroupResource;
use crate::object::Object;
use crate::pointer;
use crate::status::{Status, Unmet};

/// Puts a Pod on the node that a Binding names.
pub fn bind(pod: &mut Value, binding: &Value, now: Timestamp) -> Result<(), Status> {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    if binding["metadata"]["name"] != name.as_str() {
        return Err(Status::bad_request("name in URL does not match name in Binding object"));
    }
    check_target(&binding["target"])?;
    check_meant(pod, binding, &name)?;
    check_free(pod, &name)?;
    pointer::set(pod, "/spec/nodeName", binding["target"]["name"].clone());
    pointer::remove(pod, "/status/nominatedNodeName");
    for field in ["annotations", "labels"] {
        merge(pod, binding, field);
    }
    set_condition(pod, json!({"type": "PodScheduled", "status": "True"}), now);
    Ok(())
}

/// A refusal without reason, which is how the real server has it.
fn check_target(target: &Value) -> Result<(), Status> {
    let kind = target["kind"].as_str().unwrap_or_default();
    let error = if !matches!(kind, "" | "Node") {
        field::Error::not_supported("target.kind", kind, &["Node", "<empty>"])
    } else if target["name"].as_str().is_none_or(str::is_empty) {
        field::Error::required("target.name", "")
    } else {
        return Ok(());
    };
    Err(Status::new(500, "", error.to_string()))
}

/// A binding may say which Pod of the name it means, and in which state.
fn check_meant(pod: &Value, binding: &Value, name: &str) -> Result<(), Status> {
    for (field, title) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
        let (wanted, actual) = (binding.meta_text(field), pod.meta_text(field));
        if !wanted.is_empty() && wanted != actual {
            let key = format!("/registry/pods/{}/{name}", pod.meta_text("namespace"));
            let unmet = Unmet { key: &key, title, wanted, actual };
            return Err(Status::unmet(&GroupResource::new("", "pods"), name, unmet));
        }
    }
    Ok(())
}

fn check_free(pod: &Value, name: &str) -> Result<(), Status> {
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    let gates = pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
    let why = if !pod["metadata"]["deletionTimestamp"].is_null() {
        format!("pod {name} is being deleted, cannot be assigned to a host")
    } else if !node.is_empty() {
        format!("pod {name} is already assigned to node {}", field::Quoted(node))
    } else if gates {
        format!("pod {name} has non-empty .spec.schedulingGates")
    } else {
        return Ok(());
    };
    Err(Status::conflict(&GroupResource::new("", "pods/binding"), name, &why))
}

fn merge(pod: &mut Value, binding: &Value, field: &str) {
    let Some(more) = binding["metadata"][field].as_object() else { return };
    for (key, value) in more {
        let key = pointer::escaped(key);
        pointer::set(pod, &format!("/metadata/{field}/{key}"), value.clone());
    }
}
