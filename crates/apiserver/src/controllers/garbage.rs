//! Deletes what lost its owners, and lets owners go that waited for it. Which objects own which is kept in a [`graph`] that
//! follows the store; what to do with one is decided by [`plan`].

mod graph;
mod plan;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use self::graph::{Graph, is_of_interest, waits};
use self::plan::{Owner, Plan, plan};
use super::driver::Controller;
use crate::api::Api;
use crate::identity::group_version;
use crate::object::Object;
use crate::options::{DeleteOptions, Propagation};
use crate::status::Status;
use crate::store::{Entry, Event, Key, Scope};

pub(super) struct Collector {
    api: Arc<Api>,
    graph: Mutex<Graph>,
}

impl Controller for Collector {
    const NAME: &'static str = "garbage";
    const RESOURCES: &'static [&'static str] = &[];
    type Item = Key;

    fn api(&self) -> &Api {
        &self.api
    }

    fn all(&self) -> Vec<Key> {
        let entries = self.api.store().list(&Scope::everything()).entries;
        self.graph().reset(entries.iter().map(|entry| &**entry));
        entries.iter().filter(|entry| is_of_interest(entry)).map(|entry| entry.key.clone()).collect()
    }

    fn touched(&self, event: &Event) -> Vec<Key> {
        self.graph().take(event)
    }

    async fn tend(&self, key: &Key) -> Result<(), Status> {
        let Some(entry) = self.api.store().get(key) else { return Ok(()) };
        let object = &entry.value();
        let owners: Vec<Owner> = object.owners().iter().map(|owner| self.owner(key, owner)).collect();
        let (owned, is_blocked) = {
            let graph = self.graph();
            (graph.owned_by(object.uid()).collect::<Vec<_>>(), graph.is_blocked(object.uid()))
        };
        match plan(object, &owners, !owned.is_empty(), is_blocked) {
            Plan::Nothing => Ok(()),
            Plan::Delete(propagation) => self.delete(&entry, propagation).await,
            Plan::DropOwners(uids) => self.drop_owners(key, &uids).await,
            Plan::DropFinalizer(name) => self.drop_finalizer(&entry, name).await,
            Plan::OrphanDependents(name) => {
                let uid = [object.uid().to_owned()];
                for dependent in &owned {
                    self.drop_owners(dependent, &uid).await?;
                }
                self.drop_finalizer(&entry, name).await
            }
        }
    }
}

impl Collector {
    pub(super) fn new(api: Arc<Api>) -> Self {
        Self { api, graph: Mutex::default() }
    }

    /// Deletes an object as it was seen: in another state it may have another owner.
    async fn delete(&self, entry: &Entry, propagation: Propagation) -> Result<(), Status> {
        let options = DeleteOptions {
            propagation: Some(propagation),
            uid: Some(entry.summary.uid.to_string()),
            resource_version: Some(entry.revision.to_string()),
            ..DeleteOptions::default()
        };
        match self.api.remove(&entry.key, &options).await {
            // Whoever changed it is an event, and it is looked at then.
            Err(status) if status.code == 409 && self.has_changed(entry) => Ok(()),
            outcome => outcome,
        }
    }

    fn has_changed(&self, entry: &Entry) -> bool {
        self.api.store().get(&entry.key).is_none_or(|now| now.revision != entry.revision)
    }

    async fn drop_owners(&self, key: &Key, uids: &[String]) -> Result<(), Status> {
        let drop = |object: &mut Value| {
            let is_kept = |owner: &&Value| !uids.iter().any(|uid| owner["uid"] == uid.as_str());
            let kept: Vec<Value> = object.owners().iter().filter(is_kept).cloned().collect();
            object.set_meta("ownerReferences", kept);
        };
        self.api.amend(key, None, drop).await
    }

    async fn drop_finalizer(&self, entry: &Entry, name: &'static str) -> Result<(), Status> {
        self.api.amend_seen(entry, None, |object| object.remove_finalizer(name)).await
    }

    /// What became of an owner that an object names.
    fn owner(&self, dependent: &Key, reference: &Value) -> Owner {
        let uid = reference["uid"].as_str().unwrap_or_default().to_owned();
        let key = self.owner_key(dependent, reference);
        let entry = key.as_ref().and_then(|key| self.api.store().get(key));
        match entry.filter(|entry| *entry.summary.uid == *uid) {
            Some(entry) if waits(&entry) => Owner::waiting(uid),
            Some(_) => Owner::there(uid),
            None if key.is_some() || self.graph().is_gone(&uid) => Owner::gone(uid),
            None => Owner::unknown(uid),
        }
    }

    /// Where an owner is, if its kind is known; owners in namespaces are in that of the object they own.
    fn owner_key(&self, dependent: &Key, reference: &Value) -> Option<Key> {
        let text = |field: &str| reference[field].as_str().unwrap_or_default();
        let registry = self.api.registry();
        let (group, _) = group_version(text("apiVersion"));
        let resource = registry.find_kind(group, text("kind"))?;
        let namespace = if resource.is_namespaced { Some(dependent.namespace()?) } else { None };
        Some(resource.key(namespace, text("name")))
    }

    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
