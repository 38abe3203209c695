//! The definitions against their committed form, against the Rust types, and against what a client can apply.

use kube::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{DOCUMENTS, REVISION, SHORTHAND, crds, shorthand as short_definitions};
use crate::hash::fnv1a_hex;
use crate::{shorthand, v1alpha1, v1beta1};

/// `kubectl apply` keeps the applied object in an annotation; the API server bounds an object's annotations to this.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

#[test]
fn committed_documents_are_current() {
    assert_eq!((crds().len(), short_definitions().len()), (DOCUMENTS.len(), SHORTHAND.len()));
    for (definition, (name, yaml)) in all().into_iter().zip(DOCUMENTS.into_iter().chain(SHORTHAND)) {
        let committed: Value = serde_saphyr::from_str(yaml).expect("committed definitions are YAML");
        assert_eq!(definition["metadata"]["name"], name);
        assert!(committed == definition, "{name}.yaml is out of date: run `cargo xtask generate`");
    }
}

fn all() -> Vec<Value> {
    crds().into_iter().chain(short_definitions()).collect()
}

/// kubectl takes a plural for that of the first group in discovery, and singulars likewise. Plurals are printed and cannot be
/// chosen; singulars can.
#[test]
fn no_short_spelling_shares_a_singular_or_a_short_name() {
    let names = |definitions: Vec<Value>| {
        let of = |crd: &Value| {
            [json!([crd["spec"]["names"]["singular"]]), crd["spec"]["names"]["shortNames"].clone()]
        };
        let lists = definitions.iter().flat_map(of).collect::<Vec<_>>();
        lists.iter().filter_map(Value::as_array).flatten().cloned().collect::<Vec<_>>()
    };
    let canonical = names(crds());
    assert!(names(short_definitions()).iter().all(|name| !canonical.contains(name)));
}

/// Raise the revision, and take the new hashes, where this fails: programs tell older from newer by it.
#[test]
fn a_change_of_the_definitions_is_a_new_revision() {
    let hashes =
        all().iter().map(|definition| fnv1a_hex(&definition["spec"].to_string())).collect::<Vec<_>>();
    insta::assert_debug_snapshot!((REVISION, hashes));
}

#[test]
fn every_definition_fits_a_client_side_apply() {
    for definition in all() {
        let size = definition.to_string().len();
        assert!(size < ANNOTATIONS_LIMIT, "{} is {size} bytes", definition["metadata"]["name"]);
    }
}

#[test]
fn our_own_fields_are_described_and_kubernetes_own_are_not() {
    for definition in all() {
        let versions = definition["spec"]["versions"].as_array().expect("versions");
        let missing =
            versions.iter().flat_map(|version| undescribed("", &version["schema"]["openAPIV3Schema"]));
        assert_eq!(
            missing.collect::<Vec<_>>(),
            Vec::<String>::new(),
            "in {}",
            definition["metadata"]["name"]
        );
    }
}

/// The places of Kubernetes' own types. What is below them has no descriptions, for the size of the whole.
const KUBERNETES_OWN: [&str; 4] =
    [".podTemplate.spec", ".volumeClaimTemplates.spec", ".networkPolicy.ingress", ".networkPolicy.egress"];

fn undescribed(path: &str, schema: &Value) -> Vec<String> {
    if KUBERNETES_OWN.iter().any(|place| path.ends_with(place)) {
        let below = [&schema["properties"], &schema["items"]].map(Value::to_string).concat();
        return if below.contains("description") {
            vec![format!("{path} is described below")]
        } else {
            vec![]
        };
    }
    if path.ends_with(".template.spec") {
        // Fields of a Pod, and fields of ours, which stand elsewhere too.
        return vec![];
    }
    let own = if schema["description"].is_string() { None } else { Some(path.to_owned()) };
    let fields = [schema, &schema["items"]]
        .into_iter()
        .filter_map(|holder| holder["properties"].as_object())
        .flatten();
    own.into_iter()
        .chain(fields.flat_map(|(name, field)| undescribed(&format!("{path}.{name}"), field)))
        .collect()
}

/// The shape of each version but for its schema, which the committed documents show.
#[test]
fn names_columns_and_subresources() {
    let outline = all().into_iter().map(|mut definition| {
        for version in definition["spec"]["versions"].as_array_mut().expect("versions") {
            version["schema"] = "…".into();
        }
        definition["spec"].take()
    });
    insta::assert_yaml_snapshot!(outline.collect::<Vec<_>>());
}

#[test]
fn no_field_of_the_schema_is_lost_in_the_rust_types() {
    survives::<v1beta1::Sandbox>();
    survives::<v1beta1::SandboxTemplate>();
    survives::<v1beta1::SandboxClaim>();
    survives::<v1beta1::SandboxWarmPool>();
    survives::<v1alpha1::Sandbox>();
    survives::<v1alpha1::SandboxTemplate>();
    survives::<v1alpha1::SandboxClaim>();
    survives::<v1alpha1::SandboxWarmPool>();
    survives::<shorthand::SandboxTemplate>();
    survives::<shorthand::SandboxClaim>();
    survives::<shorthand::SandboxWarmPool>();
}

/// An object with every field of its schema set comes back from its Rust type unchanged.
fn survives<K: Resource<DynamicType = ()> + Serialize + DeserializeOwned>() {
    let mut object = fullest(&schema_of::<K>());
    object["apiVersion"] = K::api_version(&()).into();
    object["kind"] = K::kind(&()).into();
    object["metadata"] = json!({"name": "demo"});
    let typed: K = serde_json::from_value(object.clone()).expect("the fullest object parses");
    let back = serde_json::to_value(&typed).expect("objects are plain data");
    assert_eq!(
        differences("", &object, &back),
        Vec::<String>::new(),
        "{} {}",
        K::api_version(&()),
        K::kind(&())
    );
}

fn schema_of<K: Resource<DynamicType = ()>>() -> Value {
    let all = all();
    let name = format!("{}.{}", K::plural(&()), K::group(&()));
    let definition =
        all.iter().find(|crd| crd["metadata"]["name"] == name).expect("a definition of the kind");
    let versions = definition["spec"]["versions"].as_array().expect("versions");
    let version =
        versions.iter().find(|version| version["name"] == *K::version(&())).expect("a schema of the version");
    version["schema"]["openAPIV3Schema"].clone()
}

fn fullest(schema: &Value) -> Value {
    if let Some(fields) = schema["properties"].as_object() {
        return fields
            .iter()
            .map(|(name, field)| (name.clone(), fullest(field)))
            .collect::<Map<_, _>>()
            .into();
    }
    match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("object"), _) => json!({"key": fullest(&schema["additionalProperties"])}),
        (Some("array"), _) => json!([fullest(&schema["items"])]),
        (Some("integer"), _) => json!(1),
        (Some("boolean"), _) => json!(true),
        (Some("string"), Some("date-time")) => json!("2026-01-02T03:04:05Z"),
        _ => schema["enum"].get(0).cloned().unwrap_or_else(|| json!("1")),
    }
}

fn differences(path: &str, left: &Value, right: &Value) -> Vec<String> {
    match (left, right) {
        (Value::Object(left), Value::Object(_)) => left
            .iter()
            .flat_map(|(name, value)| {
                differences(&format!("{path}.{name}"), value, right.get(name).unwrap_or(&Value::Null))
            })
            .collect(),
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => left
            .iter()
            .zip(right)
            .flat_map(|(left, right)| differences(&format!("{path}[]"), left, right))
            .collect(),
        _ if left == right => vec![],
        _ => vec![format!("{path}: {left} became {right}")],
    }
}
