//! ClusterRoles that gather the rules of others by their labels. Computes what they should hold; whoever watches
//! ClusterRoles writes it.

use std::collections::HashSet;

use serde_json::Value;

use crate::object::Object;
use crate::security::json::at;
use crate::selector::LabelSelector;

/// The rules that an aggregated ClusterRole should have, or nothing where it is not aggregated or has them already. A
/// role with a selector that is not well-formed stays as it is.
pub fn aggregated(role: &Value, roles: &[&Value]) -> Option<Vec<Value>> {
    let selectors = at(role, &["aggregationRule", "clusterRoleSelectors"])?.as_array()?;
    let (mut gathered, mut seen) = (Vec::new(), HashSet::new());
    for selector in selectors {
        let wanted = LabelSelector::read(selector)?;
        for rule in selected(role, roles, &wanted).into_iter().flat_map(rules_of) {
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

/// The other roles that are wanted, by name.
fn selected<'a>(role: &Value, roles: &[&'a Value], wanted: &LabelSelector) -> Vec<&'a Value> {
    let others = roles.iter().copied().filter(|other| other.name() != role.name());
    let mut selected: Vec<_> = others.filter(|role| wanted.matches(role)).collect();
    selected.sort_by(|a, b| a.name().cmp(b.name()));
    selected
}

fn rules_of(role: &Value) -> &[Value] {
    role.get("rules").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
