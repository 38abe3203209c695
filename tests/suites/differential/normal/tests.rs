//! What becomes of a server's inventions, and what must survive.

use serde_json::{Value, json};

use super::{Given, normalise};

const UID: &str = "0a1b2c3d-0000-4000-8000-00000000000a";
const OTHER: &str = "0a1b2c3d-0000-4000-8000-00000000000b";

fn normal(answers: Vec<Value>, source: &str) -> Vec<Value> {
    normalise(answers, &Given { names: vec![("asb-test-1", "<ns>")], source })
}

#[test]
fn equal_uids_and_versions_stay_equal_and_versions_keep_their_order() {
    let object = |uid, version| json!({"metadata": {"uid": uid, "resourceVersion": version}});
    let answers = normal(vec![object(OTHER, "90"), object(UID, "8"), object(OTHER, "90")], "");
    assert_eq!(answers[0], object("<uid 1>", "<version 2>"));
    assert_eq!(answers[1], object("<uid 2>", "<version 1>"));
    assert_eq!(answers[2], answers[0]);
}

#[test]
fn keys_and_messages_are_rewritten_too() {
    let key = format!("k:{{\"uid\":\"{UID}\"}}");
    let answers =
        normal(vec![json!({"uid": UID, "m": {key: {}}, "message": format!("UID {UID} in asb-test-1")})], "");
    let expected =
        json!({"uid": "<uid 1>", "m": {"k:{\"uid\":\"<uid 1>\"}": {}}, "message": "UID <uid 1> in <ns>"});
    assert_eq!(answers, [expected]);
}

#[test]
fn what_the_case_says_stays() {
    let said = json!({"uid": UID, "renewTime": "2024-01-02T03:04:05.000000Z", "clusterIP": "10.0.0.10"});
    assert_eq!(normal(vec![said.clone()], &said.to_string()), [said]);
}

#[test]
fn times_addresses_tokens_and_generated_names_are_aliased() {
    let made = json!({
        "metadata": {"name": "a-x2vq9", "generateName": "a-", "creationTimestamp": "2024-01-02T03:04:05Z"},
        "micro": "2024-01-02T03:04:05.123456Z", "ip": "10.1.2.3", "version": "1.2.3", "jwt": "eyJh.b-c.d_e",
    });
    let expected = json!({
        "metadata": {"name": "a-<random>", "generateName": "a-", "creationTimestamp": "<time>"},
        "micro": "<time in microseconds>", "ip": "<address>", "version": "1.2.3", "jwt": "<token>",
    });
    assert_eq!(normal(vec![made], ""), [expected]);
}

#[test]
fn lists_have_a_version_that_others_move() {
    let list =
        json!({"kind": "PodList", "metadata": {"resourceVersion": "7", "continue": "abc"}, "items": []});
    let metadata = json!({"resourceVersion": "<version of the list>", "continue": "<continue>"});
    assert_eq!(normal(vec![list], "")[0]["metadata"], metadata);
}

#[test]
fn ages_are_aliased_in_cells_only() {
    let table = json!({"rows": [{"cells": ["a", "2m3s", "3 (5d ago)", 1]}], "grace": "5s"});
    let expected = json!({"rows": [{"cells": ["a", "<age>", "3 (<age> ago)", 1]}], "grace": "5s"});
    assert_eq!(normal(vec![table], ""), [expected]);
}
