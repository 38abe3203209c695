//! The place of an object: which resource, which namespace, which name. Keys of one resource lie together, and within
//! it those of one namespace, so that a list is a range.

use std::fmt;
use std::ops::Bound;

/// Sorts below every character that a resource, namespace or name may hold.
const SEPARATOR: char = '\0';

/// `resource`, namespace (empty for cluster-scoped objects) and name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(String);

impl Key {
    /// `resource` is the plural with its group, such as `sandboxes.agents.x-k8s.io`, so that groups do not meet.
    pub fn new(resource: &str, namespace: Option<&str>, name: &str) -> Self {
        Self([resource, namespace.unwrap_or_default(), name].join("\0"))
    }

    pub(super) fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(super) fn as_text(&self) -> &str {
        &self.0
    }

    pub fn resource(&self) -> &str {
        self.part(0)
    }

    pub fn namespace(&self) -> Option<&str> {
        Some(self.part(1)).filter(|namespace| !namespace.is_empty())
    }

    pub fn name(&self) -> &str {
        self.part(2)
    }

    fn part(&self, number: usize) -> &str {
        self.0.split(SEPARATOR).nth(number).unwrap_or_default()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.replace(SEPARATOR, "/"))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

/// A resource, whole or in one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    prefix: String,
}

impl Scope {
    pub fn everything() -> Self {
        Self { prefix: String::new() }
    }

    pub fn resource(resource: &str) -> Self {
        Self { prefix: format!("{resource}{SEPARATOR}") }
    }

    pub fn namespace(resource: &str, namespace: &str) -> Self {
        Self { prefix: format!("{resource}{SEPARATOR}{namespace}{SEPARATOR}") }
    }

    pub fn contains(&self, key: &Key) -> bool {
        key.0.starts_with(&self.prefix)
    }

    /// From the first key that can be in the scope; where it ends, [`Scope::contains`] says.
    pub(super) fn start(&self) -> (Bound<Key>, Bound<Key>) {
        (Bound::Included(Key(self.prefix.clone())), Bound::Unbounded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_knows_its_parts() {
        let key = Key::new("pods", Some("team"), "demo");
        assert_eq!((key.resource(), key.namespace(), key.name()), ("pods", Some("team"), "demo"));
        assert_eq!(Key::new("nodes", None, "n1").namespace(), None);
        assert_eq!(key.to_string(), "pods/team/demo");
    }

    #[test]
    fn a_scope_holds_its_own_and_not_its_neighbours() {
        let pods = Scope::resource("pods");
        assert!(pods.contains(&Key::new("pods", Some("team"), "demo")));
        assert!(!pods.contains(&Key::new("podsecurity", Some("team"), "demo")));
        let team = Scope::namespace("pods", "team");
        assert!(!team.contains(&Key::new("pods", Some("team-b"), "demo")));
    }
}
