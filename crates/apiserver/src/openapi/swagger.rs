//! OpenAPI v2 of all that is served, in one document: what older clients check objects with, and what kubectl turns to
//! for kinds that it finds nowhere else. It is what the documents of v3 say, in the words of v2.

use serde_json::{Map, Value, json};

use super::{document_with, group_versions};
use crate::registry::{Registry, published_definitions};

/// `/openapi/v2`
pub fn swagger(registry: &Registry) -> Value {
    let published = published_definitions();
    let (mut paths, mut definitions) = (Map::new(), Map::new());
    for (group, version) in group_versions(registry) {
        let Some(mut document) = document_with(registry, group, version, &published) else { continue };
        for (path, item) in taken(&mut document["paths"]) {
            paths.insert(path, path_item(item));
        }
        for (name, schema) in taken(&mut document["components"]["schemas"]) {
            let schema = if published.contains_key(&name) { built_in(schema) } else { root(schema) };
            definitions.insert(name, schema);
        }
    }
    json!({
        "swagger": "2.0",
        "info": {"title": "Agent Sandbox", "version": env!("CARGO_PKG_VERSION")},
        "paths": paths,
        "definitions": definitions,
    })
}

fn taken(value: &mut Value) -> Map<String, Value> {
    match value.take() {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn path_item(mut item: Value) -> Value {
    for (name, part) in item.as_object_mut().into_iter().flatten() {
        *part = match name.as_str() {
            "parameters" => parameters(part),
            _ => operation(part.take()),
        };
    }
    item
}

fn operation(mut operation: Value) -> Value {
    let body = operation.as_object_mut().and_then(|fields| fields.remove("requestBody"));
    let body = body.filter(|body| body["content"].as_object().is_some_and(|content| !content.is_empty()));
    let plain = || vec!["application/json".to_owned(), "application/yaml".to_owned()];
    let consumes = body.as_ref().map_or_else(plain, |body| media(&body["content"]));
    let mut all: Vec<Value> = body.iter().map(body_parameter).collect();
    all.extend(parameters(&operation["parameters"]).as_array().cloned().unwrap_or_default());
    operation["parameters"] = all.into();
    operation["consumes"] = consumes.into();
    operation["produces"] = plain().into();
    operation["schemes"] = json!(["https"]);
    for (_, response) in operation["responses"].as_object_mut().into_iter().flatten() {
        *response = answer(response);
    }
    operation
}

fn media(content: &Value) -> Vec<String> {
    content.as_object().into_iter().flatten().map(|(media, _)| media.clone()).collect()
}

fn body_parameter(body: &Value) -> Value {
    let schema = first_schema(&body["content"]).unwrap_or_default();
    let mut parameter = json!({"name": "body", "in": "body", "schema": schema});
    if body["required"] == true {
        parameter["required"] = true.into();
    }
    parameter
}

/// Where v3 has a schema for every media type, v2 has one.
fn first_schema(content: &Value) -> Option<Value> {
    let (_, first) = content.as_object()?.iter().next()?;
    Some(built_in(first["schema"].clone()))
}

fn answer(response: &Value) -> Value {
    let mut answer = json!({"description": response["description"]});
    if let Some(schema) = first_schema(&response["content"]) {
        answer["schema"] = schema;
    }
    answer
}

/// A parameter says of itself what v3 says in a schema.
fn parameters(all: &Value) -> Value {
    let all = all.as_array().into_iter().flatten().map(|parameter| {
        let mut parameter = parameter.clone();
        let schema = taken(&mut parameter["schema"]);
        if let Some(fields) = parameter.as_object_mut() {
            fields.remove("schema");
            fields.extend(schema);
        }
        parameter
    });
    all.collect()
}

/// A schema of Kubernetes' own. Defaults are not published, and a choice of types is the one that can say them all.
fn built_in(mut schema: Value) -> Value {
    refer(&mut schema);
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("default");
        if fields.remove("oneOf").is_some() {
            fields.insert("type".to_owned(), "string".into());
        }
    }
    each_inside(&mut schema, built_in);
    schema
}

/// The schema of a defined kind. Where anything may be said, nothing is told: kubectl would refuse the rest.
fn root(schema: Value) -> Value {
    if schema["x-kubernetes-preserve-unknown-fields"] == true {
        let kinds = &schema["x-kubernetes-group-version-kind"];
        return json!({"type": "object", "x-kubernetes-group-version-kind": kinds});
    }
    defined(schema)
}

/// What v2 cannot say is left out, and with it what kubectl would misread without.
fn defined(mut schema: Value) -> Value {
    refer(&mut schema);
    let nullable: Vec<String> = nullable_fields(&schema).collect();
    let Some(fields) = schema.as_object_mut() else { return schema };
    let is_nullable = fields.get("nullable").is_some_and(|value| value == true);
    let is_open = fields.get("x-kubernetes-preserve-unknown-fields").is_some_and(|value| value == true);
    fields.retain(|name, _| is_known(name));
    if is_nullable || is_open {
        fields.remove("items");
        fields.remove("properties");
    }
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
    let is_bare_list = kind == "array" && !fields.contains_key("items");
    if is_nullable || is_bare_list || (is_open && kind == "object") {
        fields.remove("type");
    }
    if let Some(required) = fields.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| name.as_str().is_none_or(|name| !nullable.iter().any(|it| it == name)));
        if required.is_empty() {
            fields.remove("required");
        }
    }
    each_inside(&mut schema, defined);
    schema
}

fn nullable_fields(schema: &Value) -> impl Iterator<Item = String> {
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields.filter(|(_, field)| field["nullable"] == true).map(|(name, _)| name.clone())
}

fn is_known(keyword: &str) -> bool {
    const KNOWN: [&str; 21] = [
        "$ref",
        "additionalProperties",
        "description",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "pattern",
        "properties",
        "required",
        "title",
    ];
    keyword.starts_with("x-") || matches!(keyword, "type" | "uniqueItems") || KNOWN.contains(&keyword)
}

/// References lead to another place. v3 wraps one that has something beside it.
fn refer(schema: &mut Value) {
    let wrapped = schema.pointer("/allOf/0/$ref").cloned();
    let Some(fields) = schema.as_object_mut() else { return };
    if let Some(wrapped) = wrapped {
        fields.remove("allOf");
        fields.insert("$ref".to_owned(), wrapped);
    }
    if let Some(Value::String(reference)) = fields.get_mut("$ref") {
        *reference = reference.replace("#/components/schemas/", "#/definitions/");
    }
}

fn each_inside(schema: &mut Value, convert: fn(Value) -> Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    for (name, value) in fields {
        match name.as_str() {
            "properties" => {
                value.as_object_mut().into_iter().flatten().for_each(|(_, it)| *it = convert(it.take()));
            }
            "items" | "additionalProperties" => *value = convert(value.take()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_resolves() {
        let document = swagger(&Registry::new());
        let mut references = Vec::new();
        super::super::collect_references(&document, &mut references);
        assert!(!references.is_empty());
        let dangling: Vec<_> =
            references.iter().filter(|name| document["definitions"].get(name.as_str()).is_none()).collect();
        assert!(dangling.is_empty(), "{dangling:?}");
        assert!(!document.to_string().contains("#/components"));
    }

    #[test]
    fn an_operation_says_what_it_takes_and_gives_in_the_words_of_v2() {
        let document = swagger(&Registry::new());
        let patch = &document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"];
        assert_eq!(
            patch["parameters"][0],
            json!({
                "name": "body", "in": "body", "required": true,
                "schema": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Patch"},
            })
        );
        assert_eq!(patch["parameters"][1]["type"], "string");
        assert_eq!(patch["responses"]["200"]["schema"]["$ref"], "#/definitions/io.k8s.api.core.v1.Pod");
        assert_eq!(patch["consumes"][0], "application/apply-patch+yaml");
    }

    #[test]
    fn defaults_and_choices_of_types_are_not_published() {
        let document = swagger(&Registry::new());
        let definitions = &document["definitions"];
        assert_eq!(definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"]["type"], "string");
        let metadata = &definitions["io.k8s.api.core.v1.Pod"]["properties"]["metadata"];
        assert_eq!(
            (&metadata["$ref"], metadata.get("default"), metadata.get("allOf")),
            (&json!("#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"), None, None)
        );
    }

    #[test]
    fn what_v2_cannot_say_of_a_defined_kind_is_left_out() {
        let schema = defined(json!({
            "type": "object", "required": ["maybe", "sure"], "oneOf": [{}],
            "properties": {
                "maybe": {"type": "object", "nullable": true, "properties": {"a": {"type": "string"}}},
                "sure": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {}}},
                "bare": {"type": "array", "x-kubernetes-list-type": "atomic", "default": []},
            },
        }));
        assert_eq!(
            schema,
            json!({
                "type": "object", "required": ["sure"],
                "properties": {
                    "maybe": {},
                    "sure": {"x-kubernetes-int-or-string": true},
                    "open": {"x-kubernetes-preserve-unknown-fields": true},
                    "bare": {"x-kubernetes-list-type": "atomic"},
                },
            })
        );
    }

    #[test]
    fn a_kind_that_may_hold_anything_is_an_object_and_nothing_more() {
        let kinds = json!([{"group": "g", "version": "v1", "kind": "K"}]);
        let schema = root(json!({
            "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"kind": {}},
            "x-kubernetes-group-version-kind": kinds,
        }));
        assert_eq!(schema, json!({"type": "object", "x-kubernetes-group-version-kind": kinds}));
    }
}
