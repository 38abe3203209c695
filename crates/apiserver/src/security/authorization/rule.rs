//! One rule of a role: which requests it allows, and how messages spell it.

use std::fmt;

use serde_json::{Map, Value};

use super::{Attributes, Resource, Target};
use crate::field::Quoted;

const ALL: &str = "*";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    pub verbs: Vec<String>,
    pub api_groups: Vec<String>,
    pub resources: Vec<String>,
    pub resource_names: Vec<String>,
    pub non_resource_urls: Vec<String>,
}

impl Rule {
    /// Nothing where a list is not a list of texts. Such a rule must grant nothing: with an unreadable name left out,
    /// a rule for one object would become a rule for all of them.
    pub fn parse(rule: &Value) -> Option<Self> {
        rule.as_object()?;
        let list = |field| strict_texts(rule.get(field));
        Some(Self {
            verbs: list("verbs")?,
            api_groups: list("apiGroups")?,
            resources: list("resources")?,
            resource_names: list("resourceNames")?,
            non_resource_urls: list("nonResourceURLs")?,
        })
    }

    /// The readable rules of a Role or ClusterRole.
    pub fn parse_all(role: &Value) -> Vec<Self> {
        let rules = role.get("rules").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        rules.iter().filter_map(Self::parse).collect()
    }

    pub fn allows(&self, attributes: &Attributes) -> bool {
        has(&self.verbs, &attributes.verb)
            && match &attributes.target {
                Target::Resource(resource) => self.allows_resource(resource),
                Target::Path(path) => self.non_resource_urls.iter().any(|url| url_covers(url, path)),
            }
    }

    fn allows_resource(&self, wanted: &Resource) -> bool {
        has(&self.api_groups, &wanted.group)
            && (self.resource_names.is_empty() || self.resource_names.contains(&wanted.name))
            && self.resources.iter().any(|allowed| resource_matches(allowed, wanted))
    }

    /// As it stands in an object; empty lists are left out, save the verbs.
    pub fn to_json(&self) -> Value {
        let lists = [
            ("apiGroups", &self.api_groups),
            ("resources", &self.resources),
            ("resourceNames", &self.resource_names),
            ("nonResourceURLs", &self.non_resource_urls),
        ];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty()).chain([("verbs", &self.verbs)]);
        lists.map(|(name, list)| (name.to_owned(), list.as_slice().into())).collect::<Map<_, _>>().into()
    }
}

/// `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`
impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
        let shown: Vec<_> = lists.map(|(name, list)| format!("{name}:{}", QuotedList(list))).collect();
        write!(formatter, "{{{}}}", shown.join(", "))
    }
}

/// Texts in quotes between brackets, as Go's `%q` writes a list.
pub(crate) struct QuotedList<'a>(pub &'a [String]);

impl fmt::Display for QuotedList<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted: Vec<_> = self.0.iter().map(|text| Quoted(text).to_string()).collect();
        write!(formatter, "[{}]", quoted.join(" "))
    }
}

/// Whether a path is one that a rule's URL stands for: itself, or whatever begins like it before its last stars.
pub(super) fn url_covers(url: &str, path: &str) -> bool {
    url == path || (url.ends_with('*') && path.starts_with(url.trim_end_matches('*')))
}

/// `*` is everything, with its subresources; `*/scale` is that subresource of everything. `pods/*` is no pattern.
fn resource_matches(allowed: &str, wanted: &Resource) -> bool {
    let subresource = &wanted.subresource;
    if allowed == ALL {
        return true;
    }
    if subresource.is_empty() {
        return allowed == wanted.resource;
    }
    match allowed.split_once('/') {
        // The name of a subresource may have slashes of its own (`userextras/example.com/scopes`), and so may a resource's.
        Some((ALL, allowed)) if allowed == subresource => true,
        _ => allowed
            .strip_suffix(subresource.as_str())
            .and_then(|rest| rest.strip_suffix('/'))
            .is_some_and(|resource| resource == wanted.resource),
    }
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|item| item == ALL || item == wanted)
}

fn strict_texts(list: Option<&Value>) -> Option<Vec<String>> {
    match list {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(list) => list.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_with_an_unreadable_name_grants_nothing() {
        let rule =
            json!({"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": [1]});
        assert_eq!(Rule::parse(&rule), None);
        assert_eq!(Rule::parse_all(&json!({"rules": [rule]})), []);
    }

    #[test]
    fn a_rule_is_spelt_as_in_the_messages_of_kubernetes() {
        let rule = json!({"verbs": ["get", "a\"b"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["x"]});
        let expected = r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["x"], Verbs:["get" "a\"b"]}"#;
        assert_eq!(Rule::parse(&rule).unwrap().to_string(), expected);
        assert_eq!(Rule::parse(&rule).unwrap().to_json(), rule);
    }
}
