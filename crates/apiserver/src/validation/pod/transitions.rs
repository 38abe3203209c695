//! A container that has ended does not run again, unless its pod says that it is restarted.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::at::At;

/// `name` is that of the list of statuses.
pub(super) fn of(name: &str, statuses: &At, old: &Value, spec: &Value) {
    let containers = match name {
        "containerStatuses" => "containers",
        "initContainerStatuses" => "initContainers",
        _ => "",
    };
    if !containers.is_empty() && all_could_restart(spec) {
        return;
    }
    let mut after = BTreeMap::new();
    for status in statuses.items() {
        after.entry(status.text_of("name")).or_insert(status.value);
    }
    let containers: BTreeMap<&str, &Value> = list(&spec[containers])
        .map(|container| (container["name"].as_str().unwrap_or_default(), container))
        .collect();
    for (index, before) in old.as_array().into_iter().flatten().enumerate() {
        let ended = &before["state"]["terminated"];
        let name = before["name"].as_str().unwrap_or_default();
        let (true, Some(after)) = (ended.is_object(), after.get(name)) else { continue };
        let code = ended["exitCode"].as_i64().unwrap_or_default();
        let restarts = containers.get(name).is_some_and(|container| restarts(container, spec, code));
        if !after["state"]["terminated"].is_object() && !restarts {
            let place = statuses.index(index);
            place.field("state").forbidden("may not be transitioned to non-terminated state");
        }
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Whether the end of any container can restart all of them.
fn all_could_restart(spec: &Value) -> bool {
    let containers = list(&spec["containers"]).chain(list(&spec["initContainers"]));
    let mut rules = containers.flat_map(|container| list(&container["restartPolicyRules"]));
    rules.any(|rule| rule["action"] == "RestartAllContainers")
}

fn restarts(container: &Value, spec: &Value, code: i64) -> bool {
    let by_policy = |policy: &str| match policy {
        "Never" => Some(false),
        "OnFailure" => Some(code != 0),
        "Always" => Some(true),
        _ => None,
    };
    let own = container["restartPolicy"].as_str();
    let by_rule = own.is_some() && list(&container["restartPolicyRules"]).any(|rule| matches(rule, code));
    by_rule
        || own
            .and_then(by_policy)
            .or_else(|| by_policy(spec["restartPolicy"].as_str().unwrap_or_default()))
            .unwrap_or(true)
}

fn matches(rule: &Value, code: i64) -> bool {
    let listed = list(&rule["exitCodes"]["values"]).any(|value| value.as_i64() == Some(code));
    match rule["exitCodes"]["operator"].as_str() {
        Some("In") => listed,
        Some("NotIn") => !listed,
        _ => false,
    }
}
