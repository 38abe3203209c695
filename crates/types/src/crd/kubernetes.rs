//! Kubernetes' own types as structural schemas, from its published OpenAPI definitions (vendored as data).
//! Descriptions are left out of the data: with them a definition would not fit a client-side `kubectl apply`.

use std::sync::LazyLock;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

const REFERENCE_PREFIX: &str = "#/components/schemas/";

/// Quantities as the API server parses them: a number with an optional decimal or binary suffix or exponent.
const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// What a CustomResourceDefinition may not say, or what only built-in kinds heed.
const NOT_FOR_DEFINITIONS: [&str; 4] = [
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-unions",
    "x-kubernetes-group-version-kind",
];

/// Defaults that the published definitions name and the Go types only refer to: the compatible definitions of these
/// kinds do not carry them, and an object must read the same under both.
const DEFAULTS_LEFT_OUT: [(&str, &str); 2] = [
    ("io.k8s.api.core.v1.AzureDiskVolumeSource", "cachingMode"),
    ("io.k8s.api.core.v1.AzureDiskVolumeSource", "kind"),
];

static DEFINITIONS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../kubernetes/definitions.json"))
        .expect("the vendored definitions are JSON")
});

pub(crate) fn pod_spec(_: &mut SchemaGenerator) -> Schema {
    reference("io.k8s.api.core.v1.PodSpec")
}

pub(crate) fn volume_claim_spec(_: &mut SchemaGenerator) -> Schema {
    reference("io.k8s.api.core.v1.PersistentVolumeClaimSpec")
}

pub(crate) fn ingress_rules(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": reference("io.k8s.api.networking.v1.NetworkPolicyIngressRule")})
}

pub(crate) fn egress_rules(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": reference("io.k8s.api.networking.v1.NetworkPolicyEgressRule")})
}

/// As in the strategy of a Deployment. Kubernetes checks the text of its own by code, and ours has to be said here.
pub(crate) fn count_or_percentage(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "minimum": 0,
        "maximum": i32::MAX,
        "pattern": "^[0-9]+%$",
        "x-kubernetes-int-or-string": true,
    })
}

fn reference(name: &str) -> Schema {
    json_schema!({"$ref": format!("{REFERENCE_PREFIX}{name}")})
}

/// The name a `$ref` points to, if the schema is one; the published definitions wrap it in `allOf` to add a default.
pub(super) fn referenced(schema: &Value) -> Option<&str> {
    let wrapped = schema.pointer("/allOf/0/$ref");
    schema.get("$ref").or(wrapped)?.as_str()?.strip_prefix(REFERENCE_PREFIX)
}

/// A definition with everything it refers to written out.
pub(super) fn expand(name: &str) -> Value {
    match name {
        "io.k8s.apimachinery.pkg.api.resource.Quantity" => {
            json!({"anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": QUANTITY, "x-kubernetes-int-or-string": true})
        }
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString" => {
            json!({"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true})
        }
        // The only ObjectMeta in reach is that of an ephemeral volume's claim, which may bear nothing else.
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" => {
            let strings = json!({"type": "object", "additionalProperties": {"type": "string"}});
            json!({"type": "object", "properties": {"annotations": strings, "labels": strings}})
        }
        _ => {
            let definition = DEFINITIONS.get(name).expect("definitions refer only to each other");
            expand_object(name, definition)
        }
    }
}

fn expand_object(name: &str, definition: &Value) -> Value {
    let mut expanded = expand_schema(definition);
    let required = definition["required"].clone();
    for (field, schema) in expanded["properties"].as_object_mut().into_iter().flatten() {
        let is_required = required.as_array().is_some_and(|names| names.iter().any(|name| name == field));
        let left_out = DEFAULTS_LEFT_OUT.contains(&(name, field));
        if is_required || left_out || schema["default"].is_object() {
            schema.as_object_mut().map(|schema| schema.remove("default"));
        }
    }
    expanded
}

/// Everything below `schema` written out. Defaults of list items and map values say only what zero is: they go.
fn expand_schema(schema: &Value) -> Value {
    if let Some(name) = referenced(schema) {
        return expand(name);
    }
    let Some(keywords) = schema.as_object() else { return schema.clone() };
    let kept = keywords.iter().filter(|(keyword, _)| !NOT_FOR_DEFINITIONS.contains(&keyword.as_str()));
    let expanded = kept.map(|(keyword, value)| (keyword.clone(), expand_keyword(keyword, value)));
    Value::Object(expanded.collect())
}

fn expand_keyword(keyword: &str, value: &Value) -> Value {
    match (keyword, value) {
        ("properties", Value::Object(fields)) => {
            fields.iter().map(|(field, schema)| (field.clone(), expand_schema(schema))).collect()
        }
        ("items" | "additionalProperties", Value::Object(_)) => {
            let mut expanded = expand_schema(value);
            expanded.as_object_mut().map(|schema| schema.remove("default"));
            expanded
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_defaults_that_mean_something_are_kept() {
        let port = expand("io.k8s.api.core.v1.ContainerPort");
        assert_eq!(port["properties"]["protocol"]["default"], "TCP");
        assert_eq!(port["properties"]["containerPort"].get("default"), None);
        assert_eq!(expand("io.k8s.api.core.v1.GRPCAction")["properties"]["service"]["default"], "");
        assert_eq!(
            expand("io.k8s.api.core.v1.AzureDiskVolumeSource")["properties"]["kind"].get("default"),
            None
        );
    }

    #[test]
    fn nothing_is_left_to_look_up() {
        for name in DEFINITIONS.keys() {
            let text = expand(name).to_string();
            assert!(!text.contains("$ref") && !text.contains("allOf"), "{name} is not written out");
        }
    }
}
