//! A template inside another object: `metadata` and a `spec`, which is a Pod's, or has a podTemplate.

use serde_json::{Map, Value, json};

use super::translation::{Refusal, refuse};

/// What the spec of a SandboxTemplate may say. Everything else in an inline spec is a Pod's.
const BLUEPRINT: [&str; 7] = [
    "podTemplate",
    "volumeClaimTemplates",
    "service",
    "networkPolicy",
    "networkPolicyManagement",
    "envVarsInjectionPolicy",
    "volumeClaimTemplatesPolicy",
];

/// The fields of a SandboxTemplate's spec.
pub(super) fn blueprint(template: &Value) -> Result<Map<String, Value>, Refusal> {
    let fields = template.as_object().cloned().unwrap_or_default();
    if let Some(stray) = fields.keys().find(|field| !["metadata", "spec"].contains(&field.as_str())) {
        return Err(refuse(format!("template has metadata and spec, and no {stray}")));
    }
    let spec = fields.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
    let (mut blueprint, pod): (Map<_, _>, Map<_, _>) =
        spec.into_iter().partition(|(field, _)| BLUEPRINT.contains(&field.as_str()));
    let metadata = fields.get("metadata").filter(|metadata| !is_empty(metadata));
    match (blueprint.contains_key("podTemplate"), pod.keys().next(), metadata) {
        (true, None, None) => {}
        (true, Some(stray), _) => {
            return Err(refuse(format!(
                "template.spec has a podTemplate; {stray} belongs in podTemplate.spec"
            )));
        }
        (true, None, Some(_)) => {
            let place = "labels and annotations of the Pod belong in template.spec.podTemplate.metadata";
            return Err(refuse(format!("template.spec has a podTemplate; {place}")));
        }
        (false, ..) if !has_containers(&pod) => {
            return Err(refuse("template.spec has neither containers nor a podTemplate".to_owned()));
        }
        (false, _, metadata) => {
            blueprint.insert("podTemplate".to_owned(), pod_template(metadata, pod));
        }
    }
    Ok(blueprint)
}

fn pod_template(metadata: Option<&Value>, pod: Map<String, Value>) -> Value {
    let mut template = json!({"spec": pod});
    if let Some(metadata) = metadata {
        template["metadata"] = metadata.clone();
    }
    template
}

fn has_containers(pod: &Map<String, Value>) -> bool {
    pod.get("containers").and_then(Value::as_array).is_some_and(|containers| !containers.is_empty())
}

fn is_empty(metadata: &Value) -> bool {
    metadata.as_object().is_none_or(Map::is_empty)
}
