//! What a start does about a role or binding that every cluster has and that is there already, as kube-apiserver does it:
//! what is missing is added, and what somebody added stays. Writing it is for others.

use serde_json::Value;

use super::Rule;
use super::coverage::uncovered;
use crate::object::Object;
use crate::security::json::at;

/// `false` on a role or binding keeps it as it is.
pub const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

#[derive(Clone, Debug, PartialEq)]
pub enum Upkeep {
    Nothing,
    /// The object with what it lacked.
    Change(Value),
    /// A binding cannot change its role: this one goes and the expected one comes.
    Recreate,
    /// It would need one of these, but is marked to be left alone.
    Protected,
}

pub fn upkeep(existing: &Value, expected: &Value) -> Upkeep {
    match needed(existing, expected) {
        Upkeep::Nothing => Upkeep::Nothing,
        _ if is_protected(existing) => Upkeep::Protected,
        needed => needed,
    }
}

fn is_protected(object: &Value) -> bool {
    object.meta("annotations").is_some_and(|annotations| annotations[AUTO_UPDATE] == "false")
}

fn needed(existing: &Value, expected: &Value) -> Upkeep {
    if existing.get("roleRef") != expected.get("roleRef") {
        return Upkeep::Recreate;
    }
    let mut kept = existing.clone();
    for field in ["annotations", "labels"] {
        add_entries(&mut kept, expected, field);
    }
    add_rules(&mut kept, expected);
    add_selectors(&mut kept, expected);
    let subjects = missing(list(&kept["subjects"]), list(&expected["subjects"]));
    append(&mut kept, "subjects", subjects);
    if kept == *existing { Upkeep::Nothing } else { Upkeep::Change(kept) }
}

/// What somebody wrote under a name of ours is theirs.
fn add_entries(kept: &mut Value, expected: &Value, field: &str) {
    let Some(Value::Object(expected)) = expected.meta(field) else { return };
    for (name, value) in expected {
        let entries = &mut kept["metadata"][field];
        if entries.get(name).is_none() {
            entries[name] = value.clone();
        }
    }
}

/// The rules of a role that gathers are whatever it gathers.
fn add_rules(kept: &mut Value, expected: &Value) {
    if expected.get("aggregationRule").is_some() {
        return;
    }
    let missing = uncovered(&Rule::parse_all(kept), &Rule::parse_all(expected));
    append(kept, "rules", missing.iter().map(Rule::to_json).collect());
}

/// A role that should not gather stops; one that should gathers by our selectors too.
fn add_selectors(kept: &mut Value, expected: &Value) {
    let selectors = |role: &Value| {
        let selectors = at(role, &["aggregationRule", "clusterRoleSelectors"]);
        selectors.map(list).unwrap_or_default().to_vec()
    };
    if expected.get("aggregationRule").is_none() {
        kept.as_object_mut().map(|role| role.remove("aggregationRule"));
        return;
    }
    let missing = missing(&selectors(kept), &selectors(expected));
    if !missing.is_empty() {
        append(&mut kept["aggregationRule"], "clusterRoleSelectors", missing);
    }
}

fn missing(there: &[Value], expected: &[Value]) -> Vec<Value> {
    expected.iter().filter(|item| !there.contains(item)).cloned().collect()
}

fn append(object: &mut Value, field: &str, items: Vec<Value>) {
    if items.is_empty() {
        return;
    }
    match object.get_mut(field).and_then(Value::as_array_mut) {
        Some(list) => list.extend(items),
        None => object[field] = items.into(),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(rules: Value) -> Value {
        let annotations = json!({AUTO_UPDATE: "true"});
        json!({"kind": "ClusterRole", "metadata": {"name": "r", "annotations": annotations}, "rules": rules})
    }

    fn pods(verbs: &[&str]) -> Value {
        json!({"apiGroups": [""], "resources": ["pods"], "verbs": verbs})
    }

    fn binding(role: &str, subjects: &[&str]) -> Value {
        let subjects: Vec<Value> =
            subjects.iter().map(|name| json!({"kind": "User", "apiGroup": "g", "name": name})).collect();
        json!({"kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "roleRef": {"name": role}, "subjects": subjects})
    }

    fn gathering(labels: &[&str], rules: Value) -> Value {
        let selectors: Vec<Value> =
            labels.iter().map(|label| json!({"matchLabels": {*label: "true"}})).collect();
        let mut role = role(rules);
        role["aggregationRule"] = json!({"clusterRoleSelectors": selectors});
        role
    }

    fn changed(existing: &Value, expected: &Value) -> Value {
        match upkeep(existing, expected) {
            Upkeep::Change(changed) => changed,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_covers_the_expected_rules_stays_as_it_is() {
        let expected = role(json!([pods(&["get", "list"])]));
        for rules in
            [json!([pods(&["get", "list"])]), json!([pods(&["*"])]), json!([pods(&["list"]), pods(&["get"])])]
        {
            assert_eq!(upkeep(&role(rules.clone()), &expected), Upkeep::Nothing, "{rules}");
        }
    }

    #[test]
    fn missing_permissions_are_added_one_by_one_and_extra_rules_stay() {
        let extra = json!({"apiGroups": ["x"], "resources": ["y"], "verbs": ["z"]});
        let existing = role(json!([pods(&["get"]), extra]));
        let changed = changed(&existing, &role(json!([pods(&["get", "list", "watch"])])));
        assert_eq!(changed["rules"], json!([pods(&["get"]), extra, pods(&["list"]), pods(&["watch"])]));
    }

    #[test]
    fn labels_and_annotations_are_added_but_not_replaced() {
        let mut expected = role(json!([]));
        expected["metadata"]["labels"] = json!({"ours": "1", "new": "1"});
        let mut existing = role(json!([]));
        existing["metadata"]["labels"] = json!({"ours": "changed", "theirs": "1"});
        let changed = changed(&existing, &expected);
        assert_eq!(changed["metadata"]["labels"], json!({"ours": "changed", "theirs": "1", "new": "1"}));
    }

    #[test]
    fn what_is_marked_is_left_alone_even_with_another_role() {
        let mut existing = role(json!([]));
        existing["metadata"]["annotations"][AUTO_UPDATE] = "false".into();
        assert_eq!(upkeep(&existing, &role(json!([pods(&["get"])]))), Upkeep::Protected);
        let mut bound = binding("old", &[]);
        bound["metadata"]["annotations"] = json!({AUTO_UPDATE: "false"});
        assert_eq!(upkeep(&bound, &binding("new", &[])), Upkeep::Protected);
        assert_eq!(upkeep(&bound, &binding("old", &[])), Upkeep::Nothing);
    }

    #[test]
    fn missing_subjects_are_added_and_extra_ones_stay() {
        let changed = changed(&binding("r", &["mine"]), &binding("r", &["a", "b"]));
        assert_eq!(changed, binding("r", &["mine", "a", "b"]));
    }

    #[test]
    fn a_binding_to_another_role_is_made_anew() {
        assert_eq!(upkeep(&binding("old", &["a"]), &binding("new", &["a"])), Upkeep::Recreate);
    }

    #[test]
    fn a_role_that_gathers_keeps_its_selectors_and_gets_ours() {
        let existing = gathering(&["mine"], json!([pods(&["get"])]));
        let changed = changed(&existing, &gathering(&["ours"], json!([pods(&["list"])])));
        assert_eq!(changed, gathering(&["mine", "ours"], json!([pods(&["get"])])));
    }

    #[test]
    fn a_role_begins_and_stops_gathering_as_expected() {
        let begun = changed(&role(json!([])), &gathering(&["ours"], json!([])));
        assert_eq!(begun, gathering(&["ours"], json!([])));
        let stopped = changed(&gathering(&["mine"], json!([])), &role(json!([])));
        assert_eq!(stopped, role(json!([])));
    }

    #[test]
    fn what_was_changed_needs_no_change_any_more() {
        let expected = role(json!([pods(&["get", "list"]), {"nonResourceURLs": ["/x"], "verbs": ["get"]}]));
        let changed = changed(&role(json!([pods(&["create"])])), &expected);
        assert_eq!(upkeep(&changed, &expected), Upkeep::Nothing);
    }
}
