//! Reads schemas as they are published: OpenAPI v3, in the form of Kubernetes' own definitions (with references) and of
//! `CustomResourceDefinition`s (without).

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use super::{Fields, ListType, PatchStrategy, Rules, Schema, Shape};

/// Kubernetes' own definitions, read when they are first asked for.
pub struct Published {
    definitions: Map<String, Value>,
    read: HashMap<String, Arc<Schema>>,
}

/// Definitions that contain themselves. What is inside is not looked at here.
const RECURSIVE: [&str; 2] = [
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
];

impl Published {
    /// `definitions` is what stands under `components.schemas`.
    pub fn new(definitions: Map<String, Value>) -> Self {
        Self { definitions, read: HashMap::new() }
    }

    /// The schema of a definition such as `io.k8s.api.core.v1.Pod`.
    pub fn schema(&mut self, name: &str) -> Option<Arc<Schema>> {
        if let Some(known) = self.read.get(name) {
            return Some(Arc::clone(known));
        }
        if RECURSIVE.contains(&name) {
            return Some(Arc::new(Schema { preserves_unknown_fields: true, ..Schema::default() }));
        }
        let definition = self.definitions.get(name)?.clone();
        let schema = Arc::new(read(&definition, &mut |reference| self.schema(reference)));
        self.read.insert(name.to_owned(), Arc::clone(&schema));
        Some(schema)
    }
}

/// A schema without references, as a `CustomResourceDefinition` holds it.
pub fn from_open_api(schema: &Value) -> Schema {
    read(schema, &mut |_| None)
}

type Lookup<'a> = dyn FnMut(&str) -> Option<Arc<Schema>> + 'a;

fn read(text: &Value, lookup: &mut Lookup<'_>) -> Schema {
    let base = referenced(text, lookup);
    let mut schema = match base {
        Some(base) => Schema::clone(&base),
        None => {
            Schema { shape: shape(text, lookup), is_untyped: text.get("type").is_none(), ..Schema::default() }
        }
    };
    schema.nullable |= flag(text, "nullable");
    schema.default = text.get("default").cloned().or(schema.default);
    schema.preserves_unknown_fields |= flag(text, "x-kubernetes-preserve-unknown-fields");
    schema.is_embedded_resource |= flag(text, "x-kubernetes-embedded-resource");
    // A field may take apart what its type does not.
    if let Some(map) = text_of(text, "x-kubernetes-map-type") {
        schema.is_atomic = map == "atomic";
    }
    if let Some(list) = list_type(text) {
        schema.list = list;
    }
    if let Some(patch) = patch_strategy(text) {
        schema.patch = patch;
    }
    schema.rules = rules(text, lookup).or(schema.rules);
    schema
}

/// Kubernetes writes a reference with a default as `allOf` of the one reference.
fn referenced(text: &Value, lookup: &mut Lookup<'_>) -> Option<Arc<Schema>> {
    let reference = text.get("$ref").or_else(|| text.pointer("/allOf/0/$ref"))?.as_str()?;
    lookup(reference.rsplit('/').next()?)
}

fn shape(text: &Value, lookup: &mut Lookup<'_>) -> Shape {
    if flag(text, "x-kubernetes-int-or-string") || text_of(text, "format") == Some("int-or-string") {
        return Shape::IntOrString;
    }
    match text_of(text, "type") {
        Some("object") => Shape::Object(fields(text, lookup)),
        Some("array") => Shape::Array(items(text, lookup)),
        Some("string") => Shape::String,
        Some("integer") => Shape::Integer,
        Some("number") => Shape::Number,
        Some("boolean") => Shape::Boolean,
        // Quantities are published as a choice of a string and a number.
        _ if text.get("oneOf").is_some() && text.get("properties").is_none() => Shape::Any,
        _ if text.get("properties").is_some() || text.get("additionalProperties").is_some() => {
            Shape::Object(fields(text, lookup))
        }
        // What `allOf` and its like say about the items of a list that is described elsewhere.
        _ if text.get("items").is_some() => Shape::Array(items(text, lookup)),
        _ => Shape::Any,
    }
}

fn items(text: &Value, lookup: &mut Lookup<'_>) -> Arc<Schema> {
    shared(text.get("items").map_or_else(Schema::default, |items| read(items, lookup)))
}

fn fields(text: &Value, lookup: &mut Lookup<'_>) -> Fields {
    let mut known = BTreeMap::new();
    for (name, schema) in text.get("properties").and_then(Value::as_object).into_iter().flatten() {
        known.insert(name.clone(), shared(read(schema, lookup)));
    }
    let others = match text.get("additionalProperties") {
        None | Some(Value::Bool(false)) => None,
        // Nothing is known of the values, not even that they cannot be null.
        Some(Value::Bool(true)) => {
            Some(Arc::new(Schema { nullable: true, is_untyped: true, ..Schema::default() }))
        }
        Some(schema) => Some(shared(read(schema, lookup))),
    };
    Fields { known, others }
}

/// Most fields are plain text, numbers or flags, and nothing more is said of them: one schema serves them all.
fn shared(schema: Schema) -> Arc<Schema> {
    static PLAIN: LazyLock<[Arc<Schema>; 3]> = LazyLock::new(|| {
        [Shape::String, Shape::Integer, Shape::Boolean]
            .map(|shape| Arc::new(Schema { shape, ..Schema::default() }))
    });
    PLAIN.iter().find(|plain| ***plain == schema).map_or_else(|| Arc::new(schema), Arc::clone)
}

fn list_type(text: &Value) -> Option<ListType> {
    Some(match text_of(text, "x-kubernetes-list-type")? {
        "set" => ListType::Set,
        "map" => ListType::Map(texts(text, "x-kubernetes-list-map-keys")),
        _ => ListType::Atomic,
    })
}

fn patch_strategy(text: &Value) -> Option<PatchStrategy> {
    let strategies: Vec<&str> = text_of(text, "x-kubernetes-patch-strategy")?.split(',').collect();
    Some(PatchStrategy {
        merges: strategies.contains(&"merge"),
        merge_key: text_of(text, "x-kubernetes-patch-merge-key").map(str::to_owned),
        retains_keys: strategies.contains(&"retainKeys"),
    })
}

fn rules(text: &Value, lookup: &mut Lookup<'_>) -> Option<Box<Rules>> {
    let mut several = |name: &str| -> Vec<Arc<Schema>> {
        let parts = text.get(name).and_then(Value::as_array).into_iter().flatten();
        parts.filter(|part| part.get("$ref").is_none()).map(|part| Arc::new(read(part, lookup))).collect()
    };
    let (all_of, any_of, one_of) = (several("allOf"), several("anyOf"), several("oneOf"));
    let number = |name: &str| text.get(name).and_then(Value::as_f64);
    let count = |name: &str| text.get(name).and_then(Value::as_u64);
    let rules = Rules {
        required: texts(text, "required"),
        enumeration: text.get("enum").and_then(Value::as_array).cloned(),
        format: text_of(text, "format").map(str::to_owned),
        pattern: text_of(text, "pattern").map(str::to_owned),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        minimum: number("minimum"),
        exclusive_minimum: flag(text, "exclusiveMinimum"),
        maximum: number("maximum"),
        exclusive_maximum: flag(text, "exclusiveMaximum"),
        multiple_of: number("multipleOf"),
        min_items: count("minItems"),
        max_items: count("maxItems"),
        unique_items: flag(text, "uniqueItems"),
        min_properties: count("minProperties"),
        max_properties: count("maxProperties"),
        all_of,
        any_of,
        one_of,
        not: text.get("not").map(|schema| Arc::new(read(schema, lookup))),
        expressions: text
            .get("x-kubernetes-validations")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default(),
    };
    (rules != Rules::default()).then(|| Box::new(rules))
}

fn flag(text: &Value, name: &str) -> bool {
    text.get(name).and_then(Value::as_bool).unwrap_or_default()
}

fn text_of<'a>(text: &'a Value, name: &str) -> Option<&'a str> {
    text.get(name).and_then(Value::as_str)
}

fn texts(text: &Value, name: &str) -> Vec<String> {
    let values = text.get(name).and_then(Value::as_array).into_iter().flatten();
    values.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn published() -> Published {
        let definitions = json!({
            "Pod": {"type": "object", "properties": {
                "spec": {"allOf": [{"$ref": "#/components/schemas/Spec"}], "default": {}},
            }},
            "Spec": {"type": "object", "required": ["containers"], "properties": {
                "containers": {
                    "type": "array", "items": {"$ref": "#/components/schemas/Container"},
                    "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "name",
                },
            }},
            "Container": {"type": "object", "properties": {"name": {"type": "string", "default": ""}}},
        });
        Published::new(definitions.as_object().expect("an object").clone())
    }

    #[test]
    fn references_are_followed_and_a_default_beside_them_is_kept() {
        let pod = published().schema("Pod").unwrap();
        let spec = pod.field("spec").unwrap();
        assert_eq!(spec.default, Some(json!({})));
        let containers = spec.field("containers").unwrap();
        assert_eq!(containers.list, ListType::Map(vec!["name".into()]));
        assert!(containers.patch.merges && containers.patch.retains_keys);
        assert_eq!(containers.items().unwrap().field("name").unwrap().shape, Shape::String);
    }

    #[test]
    fn a_definition_without_references_is_read_as_it_stands() {
        let schema = from_open_api(&json!({
            "type": "object", "x-kubernetes-validations": [{"rule": "self.size > 0"}],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        }));
        assert_eq!(schema.field("size").unwrap().rules.as_ref().unwrap().minimum, Some(1.0));
        assert_eq!(schema.field("port").unwrap().shape, Shape::IntOrString);
        assert_eq!(schema.field("labels").unwrap().field("any").unwrap().shape, Shape::String);
        assert_eq!(schema.rules.unwrap().expressions.len(), 1);
    }
}
