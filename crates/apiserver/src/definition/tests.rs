//! What a real kube-apiserver made of definitions, and what we make of them. The recordings under `recorded/` hold its
//! answers word for word.

use serde_json::{Value, json};

use super::acceptance::status;
use super::*;
use crate::status::Cause;

/// Kubernetes shows the whole schema in the form that its own code holds it.
const SHOWS_ITS_INSIDES: [&str; 1] = ["status and root keyword"];
/// Kubernetes estimates what rules cost; we bound what they may cost when they run.
const ESTIMATES_COST: [&str; 1] = ["expensive rule"];

fn recorded(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap()
}

fn causes(errors: &[field::Error]) -> Value {
    let cause = |error| {
        let Cause { reason, message, field } = Cause::from(error);
        json!({"reason": reason, "message": message, "field": field})
    };
    errors.iter().map(cause).collect()
}

fn outcome(case: &Value) -> Value {
    let mut crd = case["object"].clone();
    default(&mut crd);
    let old = case.get("old");
    let errors = match old {
        None => {
            prepare_for_create(&mut crd);
            validate_create(&crd)
        }
        Some(old) => {
            prepare_for_update(&mut crd, old);
            validate_update(&crd, old)
        }
    };
    if !errors.is_empty() {
        return json!({"causes": causes(&errors)});
    }
    let mut outcome = json!({"accepted": {"spec": crd["spec"], "status": crd["status"]}});
    let warnings = warnings(&crd, old);
    if !warnings.is_empty() {
        outcome["warnings"] = warnings.into();
    }
    assert!(Definition::compile(&crd).is_ok());
    outcome
}

fn settled(case: &Value) -> Value {
    let mut case = case.clone();
    let fields = case.as_object_mut().unwrap();
    fields.retain(|name, _| matches!(name.as_str(), "accepted" | "causes" | "warnings"));
    case
}

fn agree(cases: &[Value]) {
    let mut differences = Vec::new();
    let passed_over = |case: &&Value| {
        let name = case["name"].as_str().unwrap();
        !SHOWS_ITS_INSIDES.contains(&name) && !ESTIMATES_COST.contains(&name)
    };
    for case in cases.iter().filter(passed_over) {
        let (ours, theirs) = (outcome(case), settled(case));
        if ours != theirs {
            differences.push(format!("{}\n  ours:   {ours}\n  theirs: {theirs}", case["name"]));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn definitions_are_judged_as_kubernetes_does() {
    let cases = recorded(include_str!("recorded/creations.json"));
    assert!(cases.len() > 150);
    agree(&cases);
}

#[test]
fn changes_of_definitions_are_judged_as_kubernetes_does() {
    agree(&recorded(include_str!("recorded/changes.json")));
}

#[test]
fn names_are_accepted_as_kubernetes_does() {
    for case in recorded(include_str!("recorded/names.json")) {
        let mut crd = case["crd"].clone();
        default(&mut crd);
        if crd["status"].is_null() {
            prepare_for_create(&mut crd);
        }
        let theirs = &case["status"];
        let now =
            theirs["conditions"].as_array().unwrap().last().unwrap()["lastTransitionTime"].as_str().unwrap();
        let ours = if crd["metadata"]["deletionTimestamp"].is_null() {
            status(&crd, &case["others"].as_array().unwrap().iter().collect::<Vec<_>>(), now)
        } else {
            deletion_status(&crd, Emptying::Completed, now)
        };
        assert_eq!(&ours, theirs, "{}", case["name"]);
    }
}

#[test]
fn of_two_definitions_that_want_one_name_at_once_one_gets_it() {
    let twin = |plural: &str| {
        let names = json!({"plural": plural, "kind": "Twin", "listKind": "TwinList"});
        json!({"metadata": {"name": format!("{plural}.twin.io")}, "spec": {"group": "twin.io", "names": names}})
    };
    let (left, right) = (twin("lefts"), twin("rights"));
    let accepted = |definitions: [&Value; 2]| -> Vec<Value> {
        let statuses = statuses(&definitions.map(Value::clone), "2026-11-15T10:38:30Z");
        statuses.iter().map(|status| status["conditions"][0]["status"].clone()).collect()
    };
    assert_eq!(accepted([&left, &right]), ["True", "False"]);
    let settled = json!({"metadata": right["metadata"], "spec": right["spec"], "status": {"acceptedNames": right["spec"]["names"]}});
    assert_eq!(accepted([&left, &settled]), ["False", "True"], "who has it keeps it");
}

#[test]
fn scales_and_statuses_are_validated_as_kubernetes_does() {
    let data: Value = serde_json::from_str(include_str!("recorded/levels.json")).unwrap();
    let definition = Definition::compile(&data["crd"]).unwrap();
    let version = definition.stored().unwrap();
    let read = |object: &Value| {
        let mut object = object.clone();
        version.schema.default(&mut object).unwrap();
        version.schema.prune(&mut object);
        object
    };
    for case in data["cases"].as_array().unwrap() {
        let ours = version.validate(&read(&case["object"]), None);
        assert_eq!(
            causes(&ours.errors),
            case.get("causes").cloned().unwrap_or(json!([])),
            "{}",
            case["name"]
        );
    }
    for case in data["statuses"].as_array().unwrap() {
        let ours = version.validate_status(&read(&case["object"]), &read(&case["old"]));
        assert_eq!(
            causes(&ours.errors),
            case.get("causes").cloned().unwrap_or(json!([])),
            "{}",
            case["name"]
        );
    }
}
