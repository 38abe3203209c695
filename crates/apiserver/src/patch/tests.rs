//! Patches whose outcome the libraries of Kubernetes 1.36.3 gave are applied here, and have to come out the same.

use std::fs;

use serde_json::{Map, Value};

use super::*;
use crate::schema::Published;

fn read(path: &str) -> Value {
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn pods() -> std::sync::Arc<crate::schema::Schema> {
    let definitions: Map<String, Value> =
        serde_json::from_value(read("kubernetes/definitions.json")).unwrap();
    Published::new(definitions).schema("io.k8s.api.core.v1.Pod").unwrap()
}

#[test]
fn recorded_patches_come_out_as_they_did_in_kubernetes() {
    let pod = pods();
    let path = std::env::var("ASB_PATCHES").unwrap();
    let recorded: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let mut bad = 0;
    for case in recorded.as_array().unwrap() {
        let (object, patch) = (case["object"].clone(), &case["patch"]);
        let outcome = match case["form"].as_str().unwrap() {
            "json" => json(object, patch),
            "merge" => merge(object, patch),
            _ => strategic(object, patch, &pod),
        };
        if case.get("panics").is_some() {
            continue;
        }
        let ok = match (&outcome, case.get("error").and_then(Value::as_str)) {
            (Ok(v), None) => *v == case["result"],
            (Err(e), Some(m)) => {
                case["form"] == "json"
                    || e.message == m
                    || (e.message == rejected().message)
                    || m.contains("unable to find api field")
                        && e.message.contains("unable to find api field")
            }
            _ => false,
        };
        if !ok {
            bad += 1;
            if bad < 6 {
                println!("CASE {case}\nGOT {outcome:?}\n");
            }
        }
    }
    assert_eq!(bad, 0);
}
