//! Label selectors as objects carry them: `matchLabels` and `matchExpressions`.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

pub type Labels = BTreeMap<String, String>;

/// Every requirement must hold; none is one that always does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSelector {
    #[error("a selector's operator {0:?} is unknown")]
    Operator(String),
    #[error("a selector's {0} without values")]
    NoValues(String),
}

impl Selector {
    pub fn read(selector: &LabelSelector) -> Result<Self, BadSelector> {
        let labels = selector.match_labels.iter().flatten();
        let labels = labels.map(|(key, value)| Ok(Requirement::In(key.clone(), vec![value.clone()])));
        let expressions = selector.match_expressions.iter().flatten().map(requirement);
        labels.chain(expressions).collect::<Result<_, _>>().map(Self)
    }

    pub fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().all(|requirement| match requirement {
            Requirement::In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
            Requirement::NotIn(key, values) => labels.get(key).is_none_or(|value| !values.contains(value)),
            Requirement::Exists(key) => labels.contains_key(key),
            Requirement::Absent(key) => !labels.contains_key(key),
        })
    }
}

fn requirement(written: &LabelSelectorRequirement) -> Result<Requirement, BadSelector> {
    let key = written.key.clone();
    let values = || {
        let values = written.values.clone().filter(|values| !values.is_empty());
        values.ok_or_else(|| BadSelector::NoValues(written.operator.clone()))
    };
    match written.operator.as_str() {
        "In" => Ok(Requirement::In(key, values()?)),
        "NotIn" => Ok(Requirement::NotIn(key, values()?)),
        "Exists" => Ok(Requirement::Exists(key)),
        "DoesNotExist" => Ok(Requirement::Absent(key)),
        other => Err(BadSelector::Operator(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matches(selector: serde_json::Value, labels: &[(&str, &str)]) -> bool {
        let selector = Selector::read(&serde_json::from_value(selector).unwrap()).unwrap();
        selector
            .matches(&labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn an_empty_selector_selects_everything() {
        assert!(matches(json!({}), &[]));
        assert!(matches(json!({}), &[("app", "web")]));
    }

    #[test]
    fn not_in_also_selects_what_has_no_such_label() {
        let selector = json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]});
        assert!(matches(selector.clone(), &[]));
        assert!(matches(selector.clone(), &[("app", "db")]));
        assert!(!matches(selector, &[("app", "web")]));
    }

    #[test]
    fn all_requirements_must_hold() {
        let selector = json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "old", "operator": "DoesNotExist"}, {"key": "tier", "operator": "Exists"}],
        });
        assert!(matches(selector.clone(), &[("app", "web"), ("tier", "1")]));
        assert!(!matches(selector.clone(), &[("app", "web")]));
        assert!(!matches(selector, &[("app", "web"), ("tier", "1"), ("old", "")]));
    }

    #[test]
    fn what_cannot_be_understood_is_an_error_and_not_a_match() {
        let read = |operator: &str| {
            let selector = json!({"matchExpressions": [{"key": "a", "operator": operator}]});
            Selector::read(&serde_json::from_value(selector).unwrap())
        };
        assert_eq!(read("Gt"), Err(BadSelector::Operator("Gt".into())));
        assert_eq!(read("In"), Err(BadSelector::NoValues("In".into())));
    }
}
