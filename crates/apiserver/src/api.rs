//! What can be done with objects: everything between a decoded request and the store. Knows nothing of HTTP, and asks
//! nobody whether the user may; that was settled before.

mod bounds;
mod create;
mod delete;
mod ground;
mod housekeeping;
mod list;
pub(crate) mod scale;
mod surroundings;
mod trees;
mod update;
mod watch;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::watch::Sender;

pub use create::Created;
pub(crate) use ground::OUTDATED;
pub(crate) use housekeeping::default_account;
pub use list::Page;
pub use update::{Proposal, Updated};
pub use watch::{Feed, FeedEvent};

use crate::registry::Registry;
use crate::resource::Resource;
use crate::status::Status;
use crate::store::{Entry, Key, Store, WriteError};
use crate::{admission, rules};
use trees::Trees;

/// The objects of one cluster and their rules.
pub struct Api {
    store: Store,
    registry: Sender<Arc<Registry>>,
    trees: Trees,
    clock: fn() -> Timestamp,
}

/// Which objects a request is about, and on whose behalf it is made.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    pub resource: &'a Resource,
    pub namespace: Option<&'a str>,
    pub subresource: Option<&'a str>,
    /// Whom fields belong to where the client names no manager.
    pub agent: &'a str,
}

impl Target<'_> {
    /// The same, as admission names it.
    fn admission<T>(&self, ask: impl FnOnce(admission::Target<'_>) -> T) -> T {
        let (kind, resource) = (self.resource.group_kind(), self.resource.group_resource());
        let namespace = self.namespace.unwrap_or_default();
        ask(admission::Target { kind: &kind, resource: &resource, namespace, subresource: self.subresource })
    }
}

impl Api {
    pub fn new(store: Store) -> Self {
        let registry = Sender::new(Arc::new(Registry::new()));
        Self { store, registry, trees: Trees::default(), clock: Timestamp::now }
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What is served now.
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry.borrow())
    }

    pub fn set_registry(&self, registry: Registry) {
        self.registry.send_replace(Arc::new(registry));
    }

    /// Waits until a resource is no longer served, or is served by another edition of its definition.
    pub(crate) fn retired(&self, resource: &Arc<Resource>) -> impl Future<Output = ()> + Send + use<> {
        let (mut registry, resource) = (self.registry.subscribe(), Arc::clone(resource));
        async move { drop(registry.wait_for(|registry| !registry.serves(&resource)).await) }
    }

    /// Whether the definition of a resource is there and says that it is served: the registry is ready a moment before, and
    /// follows a moment after one is gone.
    pub(crate) fn is_defined(&self, resource: &Resource) -> bool {
        let Some(defined) = resource.defined() else { return true };
        let definition = self.store.get(&Key::new(DEFINITIONS, None, &resource.group_resource().to_string()));
        definition.is_some_and(|entry| defined.established.is_at(&entry))
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// The object, unless the client has seen a later state of the world than this server.
    pub(crate) fn get_since(
        &self,
        target: &Target<'_>,
        name: &str,
        version: Option<&str>,
    ) -> Result<Arc<Entry>, Status> {
        if let Some(version) = version.filter(|version| !version.is_empty()) {
            list::not_before(&self.store, list::revision(version).map_err(Status::unexplained)?)?;
        }
        self.get(target, name)
    }

    pub fn get(&self, target: &Target<'_>, name: &str) -> Result<Arc<Entry>, Status> {
        let resource = target.resource;
        let entry = self.store.get(&resource.key(target.namespace, name));
        entry.ok_or_else(|| Status::not_found(&resource.group_resource(), name))
    }
}

/// An object as a version of its resource shows it.
pub fn shown(resource: &Resource, entry: &Entry) -> Result<Value, Status> {
    rules::to_version(resource, entry.value())
}

/// Whether a version of the resource shows an object in the very text that is stored.
pub(crate) fn is_as_stored(resource: &Resource, entry: &Entry) -> bool {
    rules::is_as_stored(resource, entry)
}

/// Refuses an object that a version of the resource cannot show.
pub(crate) fn check_shown(resource: &Resource, entry: &Entry) -> Result<(), Status> {
    if is_as_stored(resource, entry) { Ok(()) } else { shown(resource, entry).map(drop) }
}

/// What a client hears of a write that was not made.
pub(crate) fn failed(target: &Target<'_>, name: &str, error: WriteError) -> Status {
    let resource = target.resource.group_resource();
    match error {
        WriteError::Rejected(rejection) => match rejection {
            crate::store::Rejection::Exists(entry) => exists(target, name, &entry),
            crate::store::Rejection::Missing(_) => Status::not_found(&resource, name),
            crate::store::Rejection::Changed(_) | crate::store::Rejection::Outdated(_) => {
                Status::conflict(&resource, name, CHANGED)
            }
        },
        other => {
            tracing::error!(error = &other as &dyn std::error::Error, %resource, name, "a write failed");
            Status::internal(&explained(&other))
        }
    }
}

/// An error with what led to it: that a disk is full is for whoever writes to know.
fn explained(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn exists(target: &Target<'_>, name: &str, current: &Entry) -> Status {
    let status = Status::already_exists(&target.resource.group_resource(), name);
    if current.summary.is_deleting {
        return Status { message: format!("object is being deleted: {}", status.message), ..status };
    }
    status
}

/// Whether the status of a definition says that its kinds are served.
pub(crate) fn is_established(status: &Value) -> bool {
    let conditions = status["conditions"].as_array();
    conditions.into_iter().flatten().any(|it| it["type"] == "Established" && it["status"] == "True")
}

/// As the store names them.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// In the words that clients look for.
pub(crate) const CHANGED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

#[cfg(test)]
pub(crate) mod tests;
