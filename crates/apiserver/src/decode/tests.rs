//! What the real server makes of bodies, and what we make of them.

mod bodies;

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;

const CONFIG_MAP: Expected = Expected { api_version: "v1", kind: "ConfigMap" };
const POD: Expected = Expected { api_version: "v1", kind: "Pod" };
const SECRET: Expected = Expected { api_version: "v1", kind: "Secret" };
const DEFINITION: Expected =
    Expected { api_version: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
const WIDGET: Expected = Expected { api_version: "example.com/v1", kind: "Widget" };

/// An object, and what Kubernetes 1.36.3 made of it: its protobuf, and the JSON of what that decodes to.
#[derive(Deserialize)]
struct Recorded {
    sent: Value,
    protobuf: String,
    stored: Value,
}

impl Recorded {
    fn all() -> &'static [Self] {
        static ALL: LazyLock<Vec<Recorded>> =
            LazyLock::new(|| serde_json::from_str(include_str!("tests/recorded.json")).unwrap());
        &ALL
    }

    fn expected(&self) -> Expected<'_> {
        let text = |name: &str| self.sent[name].as_str().unwrap();
        Expected { api_version: text("apiVersion"), kind: text("kind") }
    }

    fn bytes(&self) -> Vec<u8> {
        STANDARD.decode(&self.protobuf).unwrap()
    }
}

fn decoded(body: &[u8], media: Media, expected: Expected) -> Result<Decoded, Status> {
    decode(body, media, expected, Limits::default())
}

#[test]
fn json_becomes_what_kubernetes_stores() {
    for recorded in Recorded::all() {
        let body = recorded.sent.to_string();
        let decoded = decoded(body.as_bytes(), Media::Json, recorded.expected()).unwrap();
        assert_eq!(decoded, Decoded { object: recorded.stored.clone(), problems: vec![] }, "{body}");
    }
}

#[test]
fn protobuf_becomes_the_same() {
    for recorded in Recorded::all() {
        let decoded = decoded(&recorded.bytes(), Media::Protobuf, recorded.expected()).unwrap();
        assert_eq!(decoded, Decoded { object: recorded.stored.clone(), problems: vec![] });
    }
}

#[test]
fn yaml_becomes_the_same() {
    for recorded in Recorded::all() {
        // Every JSON text without line breaks is YAML.
        let body = recorded.sent.to_string();
        let decoded = decoded(body.as_bytes(), Media::Yaml, recorded.expected()).unwrap();
        assert_eq!(decoded.object, recorded.stored, "{body}");
    }
}

#[test]
fn what_was_stored_stays_as_it_is() {
    for recorded in Recorded::all() {
        let Expected { api_version, kind } = recorded.expected();
        let mut object = recorded.stored.clone();
        assert_eq!(typed::normalise(&mut object, api_version, kind), Ok(vec![]));
        assert_eq!(object, recorded.stored);
    }
}

#[test]
fn numbers_that_protobuf_does_not_know_are_skipped() {
    // Field 99 as a varint, as bytes and as a group, in front of the name of a namespace.
    let object = [&b"\x98\x06\x05\x9a\x06\x02ab\x9b\x06\x08\x01\x9c\x06"[..], b"\x0a\x03\x0a\x01x"].concat();
    let mut body = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12".to_vec();
    body.push(u8::try_from(object.len()).unwrap());
    body.extend(object);
    let expected = Expected { api_version: "v1", kind: "Namespace" };
    let decoded = decoded(&body, Media::Protobuf, expected).unwrap();
    assert_eq!(decoded.object["metadata"], json!({"name": "x"}));
}

#[test]
fn the_client_chooses_what_becomes_of_problems() {
    let body = br#"{"metadata": {"name": "a", "zz": 1}, "data": {"x": "1", "x": "2"}}"#;
    let judged = |validation| decoded(body, Media::Json, CONFIG_MAP).unwrap().judged(validation, CONFIG_MAP);
    let warnings = [r#"duplicate field "data.x""#, r#"unknown field "metadata.zz""#].map(str::to_owned);
    assert_eq!(judged(FieldValidation::Warn).unwrap().1, warnings);
    assert!(judged(FieldValidation::Ignore).unwrap().1.is_empty());
    let refusal = judged(FieldValidation::Strict).unwrap_err();
    let why = warnings.join(", ");
    assert_eq!(
        refusal.message,
        format!("ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: {why}")
    );
}

#[test]
fn keys_of_yaml_are_one_refusal_and_several_warnings() {
    let body = b"metadata: {name: x, name: y2}\ndata:\n  a: b\n  a: c\n";
    let decoded = decoded(body, Media::Yaml, CONFIG_MAP).unwrap();
    let lines = [1, 4].map(|line| {
        format!("line {line}: key \"{}\" already set in map", if line == 1 { "name" } else { "a" })
    });
    assert_eq!(decoded.clone().judged(FieldValidation::Warn, CONFIG_MAP).unwrap().1, lines);
    let refusal = decoded.judged(FieldValidation::Strict, CONFIG_MAP).unwrap_err();
    assert!(refusal.message.ends_with(&format!("yaml: unmarshal errors:\n  {}\n  {}", lines[0], lines[1])));
}

#[test]
fn objects_of_definitions_keep_all_but_unknown_metadata() {
    let body = br#"{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x", "zz": 1, "labels": {}},
        "spec": {"a": 1.0, "b": 2.5, "c": null, "d": []}}"#;
    let decoded = decoded(body, Media::Json, WIDGET).unwrap();
    assert_eq!(decoded.object["metadata"], json!({"name": "x"}));
    assert_eq!(decoded.object["spec"], json!({"a": 1, "b": 2.5, "c": null, "d": []}));
    assert_eq!(decoded.problems, [Problem::Unknown("metadata.zz".into())]);
}

#[test]
fn an_object_that_is_too_deep_is_refused_in_every_form() {
    let deep = r#"{"a": "#.repeat(100_000);
    assert!(decoded(deep.as_bytes(), Media::Json, POD).is_err());
    assert!(decoded(deep.as_bytes(), Media::Yaml, POD).is_err());
    assert!(decoded("- ".repeat(100_000).as_bytes(), Media::Yaml, POD).is_err());
    let refusal = decoded(&protobuf_of(&schema_in_schemas(1000)), Media::Protobuf, DEFINITION).unwrap_err();
    assert!(refusal.message.ends_with("exceeded max depth"), "{}", refusal.message);
}

#[test]
fn an_object_of_too_many_values_is_refused_in_every_form() {
    let limits = Limits { values: 100, ..Limits::default() };
    let many = format!(r#"{{"data": [{}0]}}"#, "0, ".repeat(100));
    for media in [Media::Json, Media::Yaml] {
        assert!(parse(many.as_bytes(), media, CONFIG_MAP, limits).is_err());
    }
    let finalizers = field(14, b"x").repeat(100);
    let body = [b"k8s\0".to_vec(), field(2, &field(1, &finalizers))].concat();
    let refusal = parse(&body, Media::Protobuf, CONFIG_MAP, limits).unwrap_err();
    assert!(refusal.message.ends_with("exceeded max number of values"), "{}", refusal.message);
}

#[test]
fn an_object_that_is_as_deep_as_allowed_is_walked() {
    let depth = Limits::default().depth - 8;
    let schema = format!("{}{}", r#"{"not":"#.repeat(depth), "{}") + &"}".repeat(depth);
    let body = format!(r#"{{"spec": {{"versions": [{{"schema": {{"openAPIV3Schema": {schema}}}}}]}}}}"#);
    decoded(body.as_bytes(), Media::Json, DEFINITION).unwrap();
    decoded(&protobuf_of(&schema_in_schemas(depth)), Media::Protobuf, DEFINITION).unwrap();
}

/// A schema that forbids a schema that forbids a schema, as a message.
fn schema_in_schemas(depth: usize) -> Vec<u8> {
    (0..depth).fold(vec![], |inner, _| field(28, &inner))
}

fn protobuf_of(schema: &[u8]) -> Vec<u8> {
    let version = field(4, &field(1, schema));
    [b"k8s\0".to_vec(), field(2, &field(2, &field(7, &version)))].concat()
}

/// A message under a number.
fn field(number: usize, message: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(message.len()), message.to_vec()].concat()
}

fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = vec![];
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}

/// Any JSON, with names that structs know among its fields.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z0-9.:+TZ-]{0,12}".prop_map(Value::from),
        prop_oneof![Just("1.5Gi"), Just("1000m"), Just("2024-01-02T03:04:05+02:00"), Just("YQ==")]
            .prop_map(Value::from),
    ];
    let names = prop_oneof![
        Just("metadata"),
        Just("spec"),
        Just("status"),
        Just("containers"),
        Just("resources"),
        Just("limits"),
        Just("volumes"),
        Just("name"),
        Just("labels"),
        Just("creationTimestamp"),
        Just("emptyDir"),
        Just("sizeLimit"),
        Just("ports"),
        Just("data"),
        Just("hostIP"),
        Just("x"),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(names.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn decoding_again_changes_nothing(mut object in any_json(), kind in prop_oneof![Just("Pod"), Just("Secret"), Just("Node")]) {
        if typed::normalise(&mut object, "v1", kind).is_ok() {
            let once = object.clone();
            prop_assert_eq!(typed::normalise(&mut object, "v1", kind), Ok(vec![]));
            prop_assert_eq!(object, once);
        }
    }

    #[test]
    fn json_that_we_write_is_read_as_it_was(object in any_json()) {
        let parsed = json::parse(object.to_string().as_bytes(), Limits::default()).unwrap();
        prop_assert_eq!(parsed, Parsed { object, duplicates: vec![] });
    }

    #[test]
    fn arbitrary_bytes_are_an_object_or_a_refusal(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for media in [Media::Json, Media::Yaml, Media::Protobuf] {
            let _ = decoded(&bytes, media, POD);
        }
        let _ = decoded(&[b"k8s\0", &field(2, &bytes)[..]].concat(), Media::Protobuf, POD);
    }

    #[test]
    fn arbitrary_text_is_an_object_or_a_refusal(text in "[\\[\\]{}:,\"'&*!|>%@#\\\\ \n\ta-c0-9.e-]{0,80}") {
        for media in [Media::Json, Media::Yaml] {
            let _ = decoded(text.as_bytes(), media, POD);
        }
    }

    #[test]
    fn damaged_protobuf_is_an_object_or_a_refusal(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte: u8, cut: bool) {
        let recorded = which.get(Recorded::all());
        let mut bytes = recorded.bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
        }
        let _ = decoded(&bytes, Media::Protobuf, recorded.expected());
    }
}

#[test]
fn unknown_keywords_of_a_schema_are_dropped_and_named_as_kubernetes_does() {
    let schema = json!({
        "type": "object", "foo": 1, "x-kubernetes-validations": [{"rule": "true", "oops": 1}],
        "properties": {"spec": {"type": "object", "bar": 2, "allOf": [{"qq": 1}]}},
    });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]},
    });
    let decoded = value(definition, DEFINITION).unwrap();
    let mut unknown: Vec<_> = decoded.problems.iter().map(Problem::to_string).collect();
    unknown.sort();
    let root = "spec.versions[0].schema.openAPIV3Schema";
    let expected =
        ["foo", "properties.spec.allOf[0].qq", "properties.spec.bar", "x-kubernetes-validations[0].oops"];
    assert_eq!(unknown, expected.map(|path| format!("unknown field \"{root}.{path}\"")));
    assert_eq!(value(decoded.object, DEFINITION).unwrap().problems, []);
}
