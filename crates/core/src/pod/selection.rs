//! Selectors of labels, as Pods use them for other Pods and for nodes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeSelectorRequirement, NodeSelectorTerm};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

pub type Labels = BTreeMap<String, String>;

/// No selector selects nothing, an empty one everything.
pub fn selects(selector: Option<&LabelSelector>, labels: &Labels) -> bool {
    selector.is_some_and(|selector| {
        let equal = selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
        equal && selector.match_expressions.iter().flatten().all(|requirement| holds(requirement, labels))
    })
}

fn holds(requirement: &LabelSelectorRequirement, labels: &Labels) -> bool {
    let values = requirement.values.as_deref().unwrap_or_default();
    compares(&requirement.operator, labels.get(&requirement.key), values)
}

/// All of a term must hold; a term that says nothing matches no node.
pub fn term_matches(term: &NodeSelectorTerm, name: &str, labels: &Labels) -> bool {
    let (expressions, fields) = (term.match_expressions.iter().flatten(), term.match_fields.iter().flatten());
    let says = expressions.clone().next().is_some() || fields.clone().next().is_some();
    let name = name.to_owned();
    says && expressions.into_iter().all(|requirement| node_holds(requirement, labels.get(&requirement.key)))
        && fields
            .into_iter()
            .all(|requirement| node_holds(requirement, (requirement.key == "metadata.name").then_some(&name)))
}

fn node_holds(requirement: &NodeSelectorRequirement, found: Option<&String>) -> bool {
    compares(&requirement.operator, found, requirement.values.as_deref().unwrap_or_default())
}

fn compares(operator: &str, found: Option<&String>, values: &[String]) -> bool {
    let number = |text: &String| text.parse::<i64>().ok();
    let numbers = || found.and_then(number).zip(values.first().and_then(number));
    match operator {
        "In" => found.is_some_and(|found| values.contains(found)),
        "NotIn" => found.is_none_or(|found| !values.contains(found)),
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        "Gt" => numbers().is_some_and(|(found, bound)| found > bound),
        "Lt" => numbers().is_some_and(|(found, bound)| found < bound),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn labels() -> Labels {
        [("app", "a"), ("size", "5")].map(|(key, value)| (key.to_owned(), value.to_owned())).into()
    }

    fn pods(selector: serde_json::Value) -> bool {
        selects(Some(&serde_json::from_value(selector).unwrap()), &labels())
    }

    #[test]
    fn all_requirements_of_a_selector_must_hold() {
        let expression = |key: &str, operator: &str, values: &[&str]| {
            pods(json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]}))
        };
        assert!(pods(json!({})) && !selects(None, &labels()));
        assert!(pods(json!({"matchLabels": {"app": "a"}})) && !pods(json!({"matchLabels": {"app": "b"}})));
        assert!(expression("app", "In", &["b", "a"]) && !expression("app", "NotIn", &["a"]));
        assert!(expression("gone", "NotIn", &["a"]) && expression("gone", "DoesNotExist", &[]));
        assert!(expression("app", "Exists", &[]) && !expression("app", "Like", &[]));
    }

    #[test]
    fn a_node_is_selected_by_numbers_and_by_name_and_never_by_nothing() {
        let node =
            |term: serde_json::Value| term_matches(&serde_json::from_value(term).unwrap(), "here", &labels());
        let bound = |operator: &str, bound: &str| json!({"matchExpressions": [{"key": "size", "operator": operator, "values": [bound]}]});
        assert!(
            node(bound("Gt", "4"))
                && !node(bound("Gt", "5"))
                && node(bound("Lt", "6"))
                && !node(bound("Lt", "x"))
        );
        let name = |name: &str| json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]});
        assert!(node(name("here")) && !node(name("there")) && !node(json!({})));
    }
}
