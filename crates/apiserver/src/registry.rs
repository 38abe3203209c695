//! What is served: Kubernetes' own kinds, and those of the definitions that users applied. A registry never changes; a
//! new definition makes a new one, which takes the place of the old one whole.

mod built_in;
mod defined;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

pub(crate) use defined::resources;

use crate::identity::maturity;
use crate::resource::{Resource, Verb};
use crate::schema::Schema;

#[derive(Clone)]
pub struct Registry {
    built_in: Vec<Arc<Resource>>,
    /// In the order in which discovery lists them.
    resources: Vec<Arc<Resource>>,
    /// Versions in which objects are stored and in which nobody is served.
    hidden: Vec<Arc<Resource>>,
    /// What the metadata of any object may hold.
    metadata: Arc<Schema>,
    by_path: HashMap<(String, String, String), Arc<Resource>>,
}

impl Registry {
    /// Kubernetes' own kinds and no others.
    pub fn new() -> Self {
        Self::assemble(built_in::load(), Vec::new())
    }

    /// The same with these definitions' kinds instead of those of before. A definition cannot take the place of one of
    /// Kubernetes' own kinds.
    #[must_use]
    pub fn with_defined(&self, mut defined: Vec<Arc<Resource>>) -> Self {
        defined.retain(|it| !self.has_built_in(&it.stored_as()));
        defined.sort_by_cached_key(|it| (place(&it.group), it.group.clone(), Reverse(maturity(&it.version))));
        Self::assemble(self.built_in.clone(), defined)
    }

    fn assemble(built_in: Vec<Arc<Resource>>, defined: Vec<Arc<Resource>>) -> Self {
        let (defined, hidden): (Vec<_>, Vec<_>) = defined.into_iter().partition(|it| it.is_served());
        let resources: Vec<_> = built_in.iter().cloned().chain(defined).collect();
        let path = |it: &Arc<Resource>| (it.group.clone(), it.version.clone(), it.plural.clone());
        let by_path = resources.iter().map(|resource| (path(resource), Arc::clone(resource))).collect();
        let metadata = built_in.first().and_then(|resource| resource.schema.field("metadata")).cloned();
        Self { built_in, resources, hidden, by_path, metadata: metadata.unwrap_or_default() }
    }

    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.by_path.get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    /// Whether this is what a request for its path finds, or would if its version were served.
    pub(crate) fn serves(&self, resource: &Arc<Resource>) -> bool {
        let found = self.find(&resource.group, &resource.version, &resource.plural);
        found.into_iter().chain(&self.hidden).any(|known| Arc::ptr_eq(known, resource))
    }

    /// A kind in any of its versions; its objects are the same in all of them.
    pub fn find_kind(&self, group: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.known().find(|it| it.allows(Verb::List) && it.group == group && it.kind == kind)
    }

    pub(crate) fn metadata(&self) -> &Arc<Schema> {
        &self.metadata
    }

    /// What clients can ask for.
    pub fn all(&self) -> &[Arc<Resource>] {
        &self.resources
    }

    /// The same and what is only stored.
    pub fn known(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.iter().chain(&self.hidden)
    }

    /// Each resource that is stored, in the version in which it is: what to look at to see every object once.
    pub fn stored(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.known().filter(|it| it.allows(Verb::List) && it.is_storage_version())
    }

    /// Whether the objects under a name in the store are of one of Kubernetes' own kinds.
    pub fn has_built_in(&self, name: &str) -> bool {
        self.built_in.iter().any(|resource| resource.stored_as() == name)
    }

    /// The version in which the objects under a name in the store are kept.
    pub fn stored_as(&self, name: &str) -> Option<&Arc<Resource>> {
        self.stored().find(|resource| resource.stored_as() == name)
    }

    /// Groups in the order of discovery, each with its versions.
    pub fn groups(&self) -> Vec<(&str, Vec<&str>)> {
        let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
        for resource in &self.resources {
            let at = groups.iter().position(|(group, _)| *group == resource.group).unwrap_or_else(|| {
                groups.push((&resource.group, Vec::new()));
                groups.len() - 1
            });
            let versions = &mut groups[at].1;
            if !versions.contains(&resource.version.as_str()) {
                versions.push(&resource.version);
            }
        }
        groups
    }

    pub fn of_version<'a>(
        &'a self,
        group: &'a str,
        version: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Resource>> {
        self.resources.iter().filter(move |it| it.group == group && it.version == version)
    }
}

/// kubectl takes a short name for a kind of the first group that has it. Claims, templates and pools are meant to be those
/// of the group of extensions, whatever else comes to bear their names.
fn place(group: &str) -> usize {
    [asb_types::EXTENSIONS_GROUP, asb_types::GROUP].iter().position(|known| *known == group).unwrap_or(2)
}

/// What Kubernetes publishes about its own kinds. Read anew each time: it is asked for rarely and large in memory.
pub(crate) fn published_definitions() -> Map<String, Value> {
    built_in::definitions()
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}
