//! Keywords of schemas that Kubernetes does not know are dropped from a definition, and named like other unknown
//! fields are.

use serde_json::Value;

/// Keywords with a schema, with schemas by name, and with a list of schemas.
const SINGLE: [&str; 4] = ["items", "additionalItems", "additionalProperties", "not"];
const NAMED: [&str; 4] = ["properties", "patternProperties", "definitions", "dependencies"];
const SEVERAL: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const PLAIN: [&str; 32] = [
    "id",
    "$schema",
    "$ref",
    "description",
    "type",
    "format",
    "title",
    "default",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "enum",
    "maxProperties",
    "minProperties",
    "required",
    "externalDocs",
    "example",
    "nullable",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
];

const RULE: [&str; 6] = ["rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf"];

/// The paths of the keywords that were dropped from the schemas of a definition's versions.
pub fn prune(crd: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    let versions = crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for (index, version) in versions.into_iter().flatten().enumerate() {
        if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
            visit(schema, &format!("spec.versions[{index}].schema.openAPIV3Schema"), &mut unknown);
        }
    }
    unknown
}

fn visit(schema: &mut Value, path: &str, unknown: &mut Vec<String>) {
    let Some(fields) = schema.as_object_mut() else { return };
    fields.retain(|name, value| {
        let name = name.as_str();
        let path = format!("{path}.{name}");
        if SINGLE.contains(&name) {
            visit(value, &path, unknown);
        } else if NAMED.contains(&name) {
            for (field, value) in value.as_object_mut().into_iter().flatten() {
                visit(value, &format!("{path}.{field}"), unknown);
            }
        } else if SEVERAL.contains(&name) {
            for (index, value) in value.as_array_mut().into_iter().flatten().enumerate() {
                visit(value, &format!("{path}[{index}]"), unknown);
            }
        } else if name == "x-kubernetes-validations" {
            for (index, rule) in value.as_array_mut().into_iter().flatten().enumerate() {
                prune_rule(rule, &format!("{path}[{index}]"), unknown);
            }
        } else if !PLAIN.contains(&name) {
            unknown.push(path);
            return false;
        }
        true
    });
}

fn prune_rule(rule: &mut Value, path: &str, unknown: &mut Vec<String>) {
    let Some(fields) = rule.as_object_mut() else { return };
    fields.retain(|name, _| {
        let is_known = RULE.contains(&name.as_str());
        if !is_known {
            unknown.push(format!("{path}.{name}"));
        }
        is_known
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::prune;

    #[test]
    fn unknown_keywords_are_dropped_and_named_as_kubernetes_does() {
        let schema = json!({
            "type": "object", "foo": 1, "x-kubernetes-validations": [{"rule": "true", "oops": 1}],
            "properties": {"spec": {"type": "object", "bar": 2, "allOf": [{"qq": 1}]}},
        });
        let mut crd = json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}});
        let root = "spec.versions[0].schema.openAPIV3Schema";
        let expected =
            ["foo", "properties.spec.allOf[0].qq", "properties.spec.bar", "x-kubernetes-validations[0].oops"];
        assert_eq!(prune(&mut crd), expected.map(|path| format!("{root}.{path}")));
        assert_eq!(prune(&mut crd), [""; 0]);
    }
}
