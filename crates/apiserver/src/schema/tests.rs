//! What a real kube-apiserver made of objects, and what we make of them. The recordings under `recorded/` hold its
//! answers word for word.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Compiled, Verdict, from_open_api};
use crate::status::Cause;

struct Recording {
    compiled: Compiled,
    data: Value,
}

fn recording(text: &str) -> Recording {
    let data: Value = serde_json::from_str(text).unwrap();
    let compiled = Compiled::new(Arc::new(from_open_api(&data["schema"]))).unwrap();
    Recording { compiled, data }
}

/// How a request ends, in the form of the recordings.
fn outcome(compiled: &Compiled, case: &Value) -> Value {
    let read = |name: &str| {
        let mut object = case[name].clone();
        compiled.default(&mut object).unwrap();
        let unknown = compiled.prune(&mut object);
        (object, unknown)
    };
    let (new, unknown) = read("object");
    let kind = case["object"]["kind"].as_str().unwrap();
    if let Some(error) = compiled.unreadable(&case["object"]) {
        let message = format!("{kind} in version \"v1\" cannot be handled as a {kind}: {error}");
        return json!({"causes": [], "code": 400, "message": message});
    }
    let old = case.get("old").map(|_| read("old").0);
    let Verdict { errors, warnings } = compiled.validate(&new, old.as_ref());
    let unknown = unknown.into_iter().map(|path| format!("unknown field \"{path}\""));
    let warnings: Vec<String> = unknown.chain(warnings).collect();
    let mut outcome = if errors.is_empty() {
        let mut accepted = new;
        let fields = accepted.as_object_mut().unwrap();
        fields.retain(|name, _| !super::metadata::META_FIELDS.contains(&name.as_str()));
        json!({"accepted": accepted})
    } else {
        let causes: Vec<Value> = errors
            .iter()
            .map(|error| {
                let Cause { reason, message, field } = error.into();
                json!({"reason": reason, "message": message, "field": field})
            })
            .collect();
        json!({"causes": causes})
    };
    if !warnings.is_empty() {
        outcome["warnings"] = warnings.into();
    }
    outcome
}

/// Fields come in no order in Kubernetes; the causes of one field do.
fn settled(recorded: &Value) -> Value {
    let mut recorded = recorded.clone();
    let fields = recorded.as_object_mut().unwrap();
    fields.retain(|name, _| matches!(name.as_str(), "accepted" | "causes" | "warnings" | "code" | "message"));
    if fields.get("code") != Some(&json!(400)) {
        fields.remove("code");
        fields.remove("message");
    }
    if let Some(Value::Array(causes)) = fields.get_mut("causes") {
        causes.sort_by_key(|cause| cause["field"].as_str().map(str::to_owned));
    }
    recorded
}

fn agree(recording: &Recording, cases: &str, least: usize) {
    let cases = recording.data[cases].as_array().unwrap();
    assert!(cases.len() >= least, "{} cases", cases.len());
    let mut differences = Vec::new();
    for case in cases {
        let (ours, theirs) = (settled(&outcome(&recording.compiled, case)), settled(case));
        if numbers_as_floats(&ours) != numbers_as_floats(&theirs) {
            differences.push(format!("{}\n  ours:   {ours}\n  theirs: {theirs}", case["name"]));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Go writes 1.0 as 1.
fn numbers_as_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(items) => items.iter().map(numbers_as_floats).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), numbers_as_floats(value))).collect()
        }
        other => other.clone(),
    }
}

#[test]
fn values_are_validated_defaulted_and_pruned_as_kubernetes_does() {
    agree(&recording(include_str!("recorded/values.json")), "cases", 300);
}

#[test]
fn rules_are_evaluated_as_kubernetes_does() {
    let recording = recording(include_str!("recorded/rules.json"));
    agree(&recording, "cases", 60);
    agree(&recording, "updates", 9);
}

#[test]
fn what_was_wrong_before_and_is_unchanged_is_tolerated() {
    agree(&recording(include_str!("recorded/changes.json")), "updates", 20);
}

#[test]
fn unknown_fields_are_named_in_the_order_of_kubernetes() {
    let recording = recording(include_str!("recorded/values.json"));
    for case in recording.data["strict"].as_array().unwrap() {
        let unknown = recording.compiled.prune(&mut case["object"].clone());
        let fields: Vec<String> = unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
        let (_, theirs) = case["message"].as_str().unwrap().split_once("strict decoding error: ").unwrap();
        assert_eq!(fields.join(", "), theirs);
    }
}

/// Rules that Kubernetes refuses for what they might cost, or for types of which our check knows too little.
const LET_PASS: [&str; 9] = [
    "['a','b'].join('-') == 'a-b'",
    "format.dns1123Label().validate('abc') == optional.none()",
    "'a,b'.split(',').map(x, x + '!').join(';') == 'a!;b!'",
    "!format.named('dns1123Label').hasValue()",
    "self.?o.?zz.hasValue() == false",
    "[1, [2, 3]].flatten() == [1, 2, 3]",
    "'abc'.reverse() == 'cba'",
    "int('x') == 1",
    "duration('x') == self.du",
];

/// The outcome of a rule: why it does not compile, or what an object that breaks it is told.
fn rule_outcome(data: &Value, rule: &str) -> Result<Option<String>, String> {
    let schema = json!({"type": "object", "properties": data["properties"], "x-kubernetes-validations": [{"rule": rule}]});
    let schema = from_open_api(&schema);
    super::Expression::checked(rule, &schema, false, false, super::Output::Bool)?;
    let compiled = Compiled::of_value(Arc::new(schema), false).unwrap();
    Ok(compiled.validate(&data["object"], None).errors.first().map(crate::field::Error::body))
}

#[test]
fn the_functions_of_rules_do_what_they_do_in_kubernetes() {
    let data: Value = serde_json::from_str(include_str!("recorded/functions.json")).unwrap();
    let mut differences = Vec::new();
    for case in data["cases"].as_array().unwrap() {
        if LET_PASS.contains(&case["rule"].as_str().unwrap()) {
            continue;
        }
        let rule = case["rule"].as_str().unwrap();
        let ours = rule_outcome(&data, rule);
        let same = match &ours {
            Ok(error) => case["compiles"] == true && case["error"] == json!(error),
            Err(_) => case["compiles"] == false,
        };
        if !same {
            differences.push(format!("{rule}\n  ours: {ours:?}\n  theirs: {case}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
