//! The ground of a write: what is looked at beside the object while a write is decided, as it was when the looking began. The
//! store makes the write only if all of it still stands; otherwise it is decided anew.

use std::sync::Arc;

use serde_json::Value;

use super::{Api, DEFINITIONS, Target};
use crate::resource::Resource;
use crate::rules;
use crate::status::Status;
use crate::store::{Entry, Guard, Key, Revision};

/// The reason of a refusal that only the program itself sees: the resource is one of before, and there is or will be another.
pub(crate) const OUTDATED: &str = "DefinitionChanged";

pub(super) struct Ground {
    since: Revision,
    guards: Vec<Guard>,
}

impl Api {
    /// For the change of an object. A definition that has changed may want something else of it.
    pub(super) fn ground(&self, target: &Target<'_>) -> Result<Ground, Status> {
        let since = self.store.revision();
        let definition = self.definition(target.resource)?;
        Ok(Ground { since, guards: definition.iter().map(|entry| unchanged(entry)).collect() })
    }

    /// For a new object: nothing comes into what is going away. That a namespace takes it is for admission to see.
    pub(super) fn ground_of_new(&self, target: &Target<'_>, name: &str) -> Result<Ground, Status> {
        let since = self.store.revision();
        let definition = self.definition(target.resource)?;
        if definition.as_ref().is_some_and(|entry| entry.summary.is_deleting) {
            let why = "create not allowed while custom resource definition is terminating";
            return Err(Status::forbidden(&target.resource.group_resource(), name, why));
        }
        let namespace = target.namespace.map(|name| self.namespace(name));
        let guards = definition.iter().map(|entry| unchanged(entry)).chain(namespace).collect();
        Ok(Ground { since, guards })
    }

    /// That a namespace is as it was. One that is not there cannot stay so for a write that is made in it.
    fn namespace(&self, name: &str) -> Guard {
        let key = Key::new("namespaces", None, name);
        let revision = self.store.get(&key).map(|entry| entry.revision).unwrap_or_default();
        Guard::Unchanged(key, revision)
    }

    /// The definition of a resource, which must be the one that the resource was made from; none for Kubernetes' own.
    fn definition(&self, resource: &Resource) -> Result<Option<Arc<Entry>>, Status> {
        let Some(defined) = resource.defined() else { return Ok(None) };
        let name = resource.group_resource().to_string();
        let entry = self.store.get(&Key::new(DEFINITIONS, None, &name)).ok_or_else(Status::no_such_page)?;
        if defined.edition.is_of(&entry) {
            return Ok(Some(entry));
        }
        let message = format!("the definition of {name} has just changed; try again");
        Err(Status::new(503, OUTDATED, message).retry_after(1))
    }
}

impl Ground {
    /// Whether nothing can take it away: the kind is Kubernetes' own, and its objects are in no namespace.
    pub(super) fn is_firm(&self) -> bool {
        self.guards.is_empty()
    }

    /// What the object must be able to rely on, together with what it takes for itself.
    pub(super) fn guards(&self, key: &Key, resource: &Resource, object: &Value) -> Vec<Guard> {
        let claims = rules::claims(resource, object).map(|claims| {
            let own = key.clone();
            let is_in_the_way = Arc::new(move |other: &Entry| {
                other.key != own && claims.meet(&other.text.value_without_managers())
            });
            Guard::Free { scope: resource.scope(None), since: self.since, is_in_the_way }
        });
        self.guards.iter().cloned().chain(claims).collect()
    }
}

fn unchanged(entry: &Entry) -> Guard {
    Guard::Unchanged(entry.key.clone(), entry.revision)
}
