//! ClusterRoles that gather the rules of others by their labels. Computes what they should hold; whoever watches
//! ClusterRoles writes it.

use std::collections::HashSet;

use serde_json::Value;

use crate::security::json::{at, text};

/// The rules that an aggregated ClusterRole should have, or nothing where it is not aggregated or has them already. A
/// role with a selector that is not well-formed stays as it is.
pub fn aggregated(role: &Value, roles: &[&Value]) -> Option<Vec<Value>> {
    let selectors = at(role, &["aggregationRule", "clusterRoleSelectors"])?.as_array()?;
    let (mut gathered, mut seen) = (Vec::new(), HashSet::new());
    for selector in selectors {
        let requirements = requirements(selector)?;
        for rule in selected(role, roles, &requirements).into_iter().flat_map(rules_of) {
            if seen.insert(rule) {
                gathered.push(rule.clone());
            }
        }
    }
    let present = rules_of(role);
    (present != gathered).then_some(gathered)
}

/// Aggregates until nothing changes, which takes as many rounds as roles gather from each other in a row.
pub fn settle(roles: &mut [Value]) {
    for _ in 0..roles.len() {
        let all: Vec<&Value> = roles.iter().collect();
        let changed: Vec<_> = roles.iter().map(|role| aggregated(role, &all)).collect();
        if changed.iter().all(Option::is_none) {
            return;
        }
        for (role, rules) in roles.iter_mut().zip(changed) {
            if let Some(rules) = rules {
                role["rules"] = rules.into();
            }
        }
    }
}

/// One condition on labels.
enum Requirement<'a> {
    In(&'a str, Vec<&'a str>),
    NotIn(&'a str, Vec<&'a str>),
    Exists(&'a str),
    DoesNotExist(&'a str),
}

fn requirements(selector: &Value) -> Option<Vec<Requirement<'_>>> {
    let labels = at(selector, &["matchLabels"]).and_then(Value::as_object).into_iter().flatten();
    let equal = labels.map(|(key, value)| Some(Requirement::In(key, vec![value.as_str()?])));
    let expressions = at(selector, &["matchExpressions"]).and_then(Value::as_array).into_iter().flatten();
    equal.chain(expressions.map(parse_expression)).collect()
}

fn parse_expression(expression: &Value) -> Option<Requirement<'_>> {
    let key = expression.get("key")?.as_str()?;
    let values = at(expression, &["values"]).and_then(Value::as_array).into_iter().flatten();
    let values: Vec<&str> = values.map(Value::as_str).collect::<Option<_>>()?;
    match (text(expression, &["operator"]), values.is_empty()) {
        ("In", false) => Some(Requirement::In(key, values)),
        ("NotIn", false) => Some(Requirement::NotIn(key, values)),
        ("Exists", true) => Some(Requirement::Exists(key)),
        ("DoesNotExist", true) => Some(Requirement::DoesNotExist(key)),
        _ => None,
    }
}

impl Requirement<'_> {
    fn matches(&self, role: &Value) -> bool {
        let label = |key: &str| at(role, &["metadata", "labels", key]).and_then(Value::as_str);
        match self {
            Self::In(key, values) => label(key).is_some_and(|value| values.contains(&value)),
            Self::NotIn(key, values) => label(key).is_none_or(|value| !values.contains(&value)),
            Self::Exists(key) => label(key).is_some(),
            Self::DoesNotExist(key) => label(key).is_none(),
        }
    }
}

/// The other roles that meet every condition, by name. No condition is met by all.
fn selected<'a>(role: &Value, roles: &[&'a Value], requirements: &[Requirement<'_>]) -> Vec<&'a Value> {
    let name = |role| text(role, &["metadata", "name"]);
    let others = roles.iter().copied().filter(|other| name(other) != name(role));
    let mut selected: Vec<_> =
        others.filter(|role| requirements.iter().all(|requirement| requirement.matches(role))).collect();
    selected.sort_by(|a, b| text(a, &["metadata", "name"]).cmp(text(b, &["metadata", "name"])));
    selected
}

fn rules_of(role: &Value) -> &[Value] {
    role.get("rules").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
