//! The names of kinds and resources, as messages spell them.

use std::fmt;

/// `Deployment.apps`; a kind of the core group stands alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    pub group: String,
    pub kind: String,
}

/// `deployments.apps`; a resource of the core group stands alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    pub group: String,
    pub resource: String,
}

impl GroupKind {
    pub fn new(group: &str, kind: &str) -> Self {
        Self { group: group.to_owned(), kind: kind.to_owned() }
    }
}

impl GroupResource {
    pub fn new(group: &str, resource: &str) -> Self {
        Self { group: group.to_owned(), resource: resource.to_owned() }
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_group(formatter, &self.kind, &self.group)
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_group(formatter, &self.resource, &self.group)
    }
}

fn with_group(formatter: &mut fmt::Formatter<'_>, name: &str, group: &str) -> fmt::Result {
    match group {
        "" => formatter.write_str(name),
        group => write!(formatter, "{name}.{group}"),
    }
}

/// The group and version of an `apiVersion`.
pub fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// The `apiVersion` of a group and version.
pub fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}
