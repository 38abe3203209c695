//! Role-based access control, as Kubernetes has it: purely additive rules that bindings give to users and groups.
//! Everything here is a function of objects and questions; who asks is `authentication`'s to say.

pub mod aggregation;
pub mod bootstrap;
mod coverage;
pub mod escalation;
pub mod index;
pub mod reconciliation;
mod refusal;
pub mod review;
pub mod rule;
mod selector;

#[cfg(test)]
mod properties;
#[cfg(test)]
pub(crate) mod recorded;

pub use index::Index;
pub use refusal::forbidden;
pub use rule::Rule;

use std::collections::HashSet;

/// The API group of roles and bindings.
pub const GROUP: &str = "rbac.authorization.k8s.io";

/// What somebody wants to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    pub verb: String,
    pub target: Target,
}

/// To what it would be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Resource(Resource),
    /// A path that is not an object's, such as `/metrics`
    Path(String),
}

/// Objects, or one of them. What is empty is not said: no subresource, every namespace, any name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    pub group: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
}

/// There are no rules that deny: what is not allowed is nobody's opinion, and refused in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// With the binding that allows it; empty for `system:masters`, which needs none.
    Allowed(String),
    /// With what went wrong while looking for rules, if anything.
    NoOpinion(String),
}

impl Attributes {
    pub fn resource(verb: &str, resource: Resource) -> Self {
        Self { verb: verb.to_owned(), target: Target::Resource(resource) }
    }

    pub fn path(verb: &str, path: &str) -> Self {
        Self { verb: verb.to_owned(), target: Target::Path(path.to_owned()) }
    }

    /// The namespace whose bindings count beside those of the cluster; paths have none.
    pub fn namespace(&self) -> &str {
        match &self.target {
            Target::Resource(resource) => &resource.namespace,
            Target::Path(_) => "",
        }
    }
}

impl Resource {
    /// From the fields that reviews have, by their names.
    fn read(field: impl Fn(&str) -> String) -> Self {
        Self {
            group: field("group"),
            resource: field("resource"),
            subresource: field("subresource"),
            namespace: field("namespace"),
            name: field("name"),
        }
    }

    /// `pods`, or `pods/log`
    pub fn with_subresource(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            subresource => format!("{}/{subresource}", self.resource),
        }
    }
}

impl Decision {
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }

    pub fn reason(&self) -> &str {
        match self {
            Self::Allowed(reason) | Self::NoOpinion(reason) => reason,
        }
    }
}

/// Several problems in one line, each said once, as Kubernetes joins them.
fn joined(problems: &[String]) -> String {
    let mut seen = HashSet::new();
    let distinct: Vec<&str> =
        problems.iter().map(String::as_str).filter(|problem| seen.insert(*problem)).collect();
    match distinct.as_slice() {
        [only] => (*only).to_owned(),
        several => format!("[{}]", several.join(", ")),
    }
}
