//! Writes that were sent to kube-apiserver 1.36.3, one by one, and what it made of them. Times that it set are replaced by
//! the time of the tests, what was set after managers were recorded is left out of what was sent, and conflicts are sorted
//! by owner; other than that the answers are as they came.

use serde_json::{Map, Value};

use super::*;

/// What came before, what was sent, and what came back.
struct Step {
    what: String,
    text: Value,
}

impl Step {
    fn str(&self, name: &str) -> &str {
        self.text[name].as_str().unwrap_or_default()
    }

    fn live(&self) -> Option<&Value> {
        Some(&self.text["live"]).filter(|live| live.is_object())
    }

    fn kind(&self) -> Kind {
        let (definition, subresource) = (self.str("kind"), self.str("subresource"));
        if definition == "Widget" {
            let schema = Arc::clone(&WIDGET_SCHEMA);
            let version = Version { schema, reset: reset_by_custom_resource(subresource, true) };
            let names = ["apply.asb.test/v1", "apply.asb.test/v1beta1"];
            let versions = names.map(|name| (name.to_owned(), version.clone())).into();
            return Kind { name: "Widget", origin: Origin::Custom, versions };
        }
        let schema = schema(definition);
        let name = definition.rsplit('.').next().unwrap_or_default();
        let reset = reset_by_built_in(&format!("{}s", name.to_lowercase()), subresource);
        let versions = [(self.str("apiVersion").to_owned(), Version { schema, reset })].into();
        Kind { name: name.to_owned().leak(), origin: Origin::BuiltIn, versions }
    }

    fn manager(&self) -> Manager {
        let operation = if self.str("operation") == "Apply" { Operation::Apply } else { Operation::Update };
        Manager {
            name: self.str("manager").to_owned(),
            operation,
            api_version: self.str("apiVersion").to_owned(),
            subresource: self.str("subresource").to_owned(),
        }
    }

    fn run(&self) -> Result<Value, Status> {
        let (kind, manager) = (self.kind(), self.manager());
        let context = kind.context();
        match manager.operation {
            Operation::Update => Ok(update(self.live(), self.text["sent"].clone(), &manager, &context)),
            Operation::Apply => {
                let force = self.text["force"] == true;
                apply(self.live(), &self.text["sent"], &manager, force, &context)
            }
        }
    }

    /// What differs from the answer.
    fn difference(&self) -> Option<String> {
        let (outcome, answer) = (self.run(), &self.text["answer"]);
        let is_refused = answer["kind"] == "Status" && self.text["refusedByOthers"] != true;
        match outcome {
            Err(status) if !is_refused => Some(format!("refused: {}", status.message)),
            Err(status) => differing(&status.to_json(), answer),
            Ok(done) if is_refused => Some(format!("not refused: {done}")),
            Ok(_) if answer["kind"] == "Status" => None,
            Ok(done) => self.object_difference(&done, answer),
        }
    }

    fn object_difference(&self, done: &Value, answer: &Value) -> Option<String> {
        // The server finds out after defaulting that nothing changed, and then keeps the times.
        let revision = |object: &Value| object["metadata"]["resourceVersion"].clone();
        let is_unchanged = self.live().is_some_and(|live| revision(live) == revision(answer));
        let owners = |object: &Value| {
            let mut managed = entries(object).cloned().unwrap_or_default();
            let entries = managed.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut);
            entries.filter(|_| is_unchanged).for_each(|entry| drop(entry.remove("time")));
            managed
        };
        differing(&owners(done), &owners(answer)).or_else(|| {
            // What an endpoint resets, and what a kind turns into something else, is up to others.
            let is_whole = self.str("subresource").is_empty() && self.text["sent"].get("status").is_none();
            let is_kept = self.text["sent"].get("stringData").is_none();
            if !is_whole || !is_kept {
                return None;
            }
            let done = without_entries(done.clone());
            missing("", &done, answer)
                .or_else(|| lost("", &done, answer, self.live().unwrap_or(&Value::Null)))
        })
    }
}

fn differing(ours: &Value, theirs: &Value) -> Option<String> {
    (ours != theirs).then(|| format!("ours   {ours}\ntheirs {theirs}"))
}

/// Defaults come later, so the answer may hold more. It holds nothing else, and nothing in another order.
fn missing(path: &str, ours: &Value, theirs: &Value) -> Option<String> {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => ours.iter().find_map(|(name, value)| {
            let path = format!("{path}.{name}");
            match theirs.get(name) {
                Some(other) => missing(&path, value, other),
                // Unknown fields inside a structure that is known are pruned, whatever is around it.
                None => (!is_void(value) && path != ".spec.open.known.extra")
                    .then(|| format!("{path}: ours {value}, theirs absent")),
            }
        }),
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
            ours.iter().zip(theirs).find_map(|(ours, theirs)| missing(&format!("{path}[]"), ours, theirs))
        }
        _ if path.ends_with("resourceVersion") || path.ends_with("generation") => None,
        _ => (ours != theirs).then(|| format!("{path}: ours {ours}, theirs {theirs}")),
    }
}

/// What the answer still has, and had before, is there.
fn lost(path: &str, ours: &Value, theirs: &Value, live: &Value) -> Option<String> {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => theirs.iter().find_map(|(name, value)| {
            let (path, live) = (format!("{path}.{name}"), live.get(name).unwrap_or(&Value::Null));
            if let Some(ours) = ours.get(name) {
                return lost(&path, ours, value, live);
            }
            // A key or part of a leaf that is left out comes back as a default.
            let is_default = path.ends_with(".protocol") || path.ends_with(".fieldRef.apiVersion");
            let is_gone = live == value && !is_void(value) && !is_default && name != "managedFields";
            is_gone.then(|| format!("{path}: lost"))
        }),
        (Value::Array(ours), Value::Array(theirs)) => ours.iter().zip(theirs).find_map(|(ours, theirs)| {
            let is_same =
                |item: &&Value| ["name", "port", "type"].iter().all(|key| item[*key] == theirs[*key]);
            let live =
                live.as_array().and_then(|items| items.iter().find(|item| item.is_object() && is_same(item)));
            lost(&format!("{path}[]"), ours, theirs, live.unwrap_or(&Value::Null))
        }),
        _ => None,
    }
}

fn is_void(value: &Value) -> bool {
    value.is_null()
        || value.as_object().is_some_and(Map::is_empty)
        || value.as_array().is_some_and(Vec::is_empty)
}

fn check(recording: &str) {
    let steps: Vec<Value> = serde_json::from_str(recording).expect("a recording is a list of steps");
    let mut failures = Vec::new();
    for text in steps {
        let step = Step { what: text["what"].as_str().unwrap_or_default().to_owned(), text };
        failures.extend(step.difference().map(|difference| format!("{}\n{difference}", step.what)));
    }
    assert!(failures.is_empty(), "{} steps differ:\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn config_maps_are_written_as_kubernetes_writes_them() {
    check(include_str!("../recorded/config_maps.json"));
}

#[test]
fn custom_resources_are_written_as_kubernetes_writes_them() {
    check(include_str!("../recorded/custom_resources.json"));
}

#[test]
fn other_kinds_are_written_as_kubernetes_writes_them() {
    check(include_str!("../recorded/built_ins.json"));
}
