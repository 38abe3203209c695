//! Whether the rules that somebody has include the rules that somebody wants to give. Wanted rules are taken apart into
//! single permissions, each of which one rule of the owner must cover alone.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Rule;
use super::rule::url_covers;

/// More single permissions than this are not looked at: their number is the product of a rule's lists, which a request of
/// a few kilobytes could make astronomic. The largest role that Kubernetes comes with has some hundreds.
const MOST: usize = 100_000;

/// How often a wanted permission is compared with a rule of the owner, who may have made thousands for themselves.
const MOST_COMPARISONS: usize = 20_000_000;

/// What is not covered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Nothing,
    /// Merged by verbs, sorted as they are spelt
    Rules(Vec<String>),
    TooManyToTell,
}

pub(super) fn missing<'a>(
    owned: impl IntoIterator<Item = &'a Rule>,
    wanted: impl IntoIterator<Item = &'a Rule>,
) -> Missing {
    let owned: Vec<_> = owned.into_iter().map(Owned::new).collect();
    let mut uncovered = Vec::new();
    let mut seen = 0_usize;
    for rule in wanted {
        if owned.iter().any(|owned| owned.covers_whole(rule)) {
            continue;
        }
        seen = seen.saturating_add(count(rule));
        if seen > MOST || seen.saturating_mul(owned.len()) > MOST_COMPARISONS {
            return Missing::TooManyToTell;
        }
        let open = permissions(rule).into_iter();
        uncovered.extend(open.filter(|permission| !owned.iter().any(|owned| owned.covers(permission))));
    }
    if uncovered.is_empty() { Missing::Nothing } else { Missing::Rules(described(&uncovered)) }
}

/// The single permissions among the wanted that are not covered, each as a rule.
pub(super) fn uncovered(owned: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let owned: Vec<_> = owned.iter().map(Owned::new).collect();
    let wanted = wanted.iter().flat_map(permissions);
    let open = wanted.filter(|permission| !owned.iter().any(|owned| owned.covers(permission)));
    open.map(Permission::to_rule).collect()
}

#[derive(Clone, Copy, Debug)]
enum Permission<'a> {
    Resource { group: &'a str, resource: &'a str, name: Option<&'a str>, verb: &'a str },
    Url { url: &'a str, verb: &'a str },
}

/// How many permissions a rule is.
fn count(rule: &Rule) -> usize {
    let names = rule.resource_names.len().max(1);
    let lists = [rule.api_groups.len(), rule.resources.len(), rule.verbs.len(), names];
    let resources = lists.into_iter().fold(1, usize::saturating_mul);
    resources.saturating_add(rule.non_resource_urls.len().saturating_mul(rule.verbs.len()))
}

fn permissions(rule: &Rule) -> Vec<Permission<'_>> {
    let mut all = Vec::new();
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                let names = rule.resource_names.iter().map(|name| Some(name.as_str()));
                let every = rule.resource_names.is_empty().then_some(None);
                all.extend(names.chain(every).map(|name| Permission::Resource {
                    group,
                    resource,
                    name,
                    verb,
                }));
            }
        }
    }
    for url in &rule.non_resource_urls {
        all.extend(rule.verbs.iter().map(|verb| Permission::Url { url, verb }));
    }
    all
}

/// A rule of the owner, with its lists as sets.
struct Owned<'a> {
    verbs: Set<'a>,
    groups: Set<'a>,
    resources: Set<'a>,
    names: Set<'a>,
    urls: &'a [String],
}

/// Texts, of which `*` stands for all.
struct Set<'a> {
    all: bool,
    texts: HashSet<&'a str>,
}

impl<'a> Set<'a> {
    fn new(texts: &'a [String]) -> Self {
        let texts: HashSet<_> = texts.iter().map(String::as_str).collect();
        Self { all: texts.contains("*"), texts }
    }

    fn covers(&self, text: &str) -> bool {
        self.all || self.texts.contains(text)
    }
}

impl<'a> Owned<'a> {
    fn new(rule: &'a Rule) -> Self {
        Self {
            verbs: Set::new(&rule.verbs),
            groups: Set::new(&rule.api_groups),
            resources: Set::new(&rule.resources),
            names: Set::new(&rule.resource_names),
            urls: &rule.non_resource_urls,
        }
    }

    fn covers(&self, permission: &Permission<'_>) -> bool {
        match permission {
            Permission::Resource { group, resource, name, verb } => {
                self.verbs.covers(verb)
                    && self.groups.covers(group)
                    && self.covers_resource(resource)
                    && self.covers_name(*name)
            }
            Permission::Url { url, verb } => {
                self.verbs.covers(verb) && self.names.texts.is_empty() && self.covers_url(url)
            }
        }
    }

    /// In one look rather than permission by permission, which is how a rule of `*` is met by an administrator's.
    fn covers_whole(&self, rule: &Rule) -> bool {
        let names = match rule.resource_names.as_slice() {
            [] => self.covers_name(None),
            names => names.iter().all(|name| self.covers_name(Some(name))),
        };
        let resources = names
            && rule.api_groups.iter().all(|group| self.groups.covers(group))
            && rule.resources.iter().all(|resource| self.covers_resource(resource));
        let urls =
            rule.non_resource_urls.iter().all(|url| self.names.texts.is_empty() && self.covers_url(url));
        let has_resources = !rule.resources.is_empty() && !rule.api_groups.is_empty();
        rule.verbs.iter().all(|verb| self.verbs.covers(verb)) && (resources || !has_resources) && urls
    }

    fn covers_resource(&self, resource: &str) -> bool {
        let of_all = || {
            let (_, subresource) = resource.split_once('/')?;
            Some(self.resources.texts.contains(format!("*/{subresource}").as_str()))
        };
        self.resources.covers(resource) || of_all().unwrap_or_default()
    }

    /// Names have no wildcard: a rule for some objects never covers a rule for all.
    fn covers_name(&self, name: Option<&str>) -> bool {
        self.names.texts.is_empty() || name.is_some_and(|name| self.names.texts.contains(name))
    }

    fn covers_url(&self, url: &str) -> bool {
        self.urls.iter().any(|owned| url_covers(owned, url))
    }
}

/// Permissions on the same resource become one rule with all their verbs; those on paths stay single.
fn described(permissions: &[Permission<'_>]) -> Vec<String> {
    let mut positions = HashMap::new();
    let mut rules: Vec<Rule> = Vec::new();
    for permission in permissions {
        match permission {
            Permission::Url { .. } => rules.push(permission.to_rule()),
            Permission::Resource { group, resource, name, verb } => {
                let position = *positions.entry((group, resource, name)).or_insert(rules.len());
                match rules.get_mut(position) {
                    Some(rule) => rule.verbs.push((*verb).to_owned()),
                    None => rules.push(permission.to_rule()),
                }
            }
        }
    }
    rules.iter().map(Rule::to_string).collect::<BTreeSet<_>>().into_iter().collect()
}

impl Permission<'_> {
    fn to_rule(self) -> Rule {
        match self {
            Self::Url { url, verb } => Rule {
                non_resource_urls: vec![url.to_owned()],
                verbs: vec![verb.to_owned()],
                ..Rule::default()
            },
            Self::Resource { group, resource, name, verb } => Rule {
                api_groups: vec![group.to_owned()],
                resources: vec![resource.to_owned()],
                resource_names: name.into_iter().map(str::to_owned).collect(),
                verbs: vec![verb.to_owned()],
                ..Rule::default()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(length: usize) -> Rule {
        let texts = |prefix: &str| (0..length).map(|number| format!("{prefix}{number}")).collect::<Vec<_>>();
        Rule { verbs: texts("v"), api_groups: texts("g"), resources: texts("r"), ..Rule::default() }
    }

    #[test]
    fn a_rule_with_astronomically_many_permissions_is_not_taken_apart() {
        assert_eq!(missing([&rule(1)], [&rule(10_000)]), Missing::TooManyToTell);
        assert!(matches!(missing([&rule(1)], [&rule(10)]), Missing::Rules(_)));
    }

    #[test]
    fn many_permissions_are_not_compared_with_many_rules() {
        let owned = vec![rule(1); 10_000];
        assert_eq!(missing(&owned, [&rule(20)]), Missing::TooManyToTell);
        assert!(matches!(missing(&owned[..1000], [&rule(20)]), Missing::Rules(_)));
    }

    #[test]
    fn a_large_rule_is_covered_by_one_that_includes_it() {
        assert_eq!(missing([&rule(1), &rule(10_000)], [&rule(10_000)]), Missing::Nothing);
    }
}
