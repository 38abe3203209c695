//! Deletes what lost its owners, and lets owners go that waited for it. Which objects own which is kept in an index that
//! follows the store; what to do with one is decided by [`plan`].

mod index;
mod plan;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use self::index::Dependents;
use self::plan::{Owner, Plan, plan};
use super::Controller;
use crate::api::Api;
use crate::object::Object;
use crate::options::DeleteOptions;
use crate::status::Status;
use crate::store::{Entry, Event, EventKind, Key, Scope};

pub(super) struct Collector {
    api: Arc<Api>,
    dependents: Mutex<Dependents>,
}

impl Controller for Collector {
    const RESOURCES: &'static [&'static str] = &[];

    fn api(&self) -> &Api {
        &self.api
    }

    async fn begin(&self) {
        let entries = self.api.store().list(&Scope::everything()).entries;
        let index = entries.iter().filter(|entry| entry.summary.has_owners).fold(
            Dependents::default(),
            |mut index, entry| {
                index.put(&entry.key, &entry.value());
                index
            },
        );
        *self.index() = index;
        let keys = entries.iter().filter(|entry| is_of_interest(entry)).map(|entry| entry.key.clone());
        self.work(keys.collect()).await;
    }

    async fn take(&self, events: Vec<Event>) {
        let touched = events.iter().flat_map(|event| self.touched_by(event)).collect();
        self.work(touched).await;
    }
}

impl Collector {
    pub(super) fn new(api: Arc<Api>) -> Self {
        Self { api, dependents: Mutex::default() }
    }

    /// Updates the index, and says which objects may now need something.
    fn touched_by(&self, event: &Event) -> Vec<Key> {
        let (key, summary) = (&event.entry.key, &event.entry.summary);
        let object = if summary.has_owners { event.entry.value() } else { Value::Null };
        let mut index = self.index();
        if event.kind == EventKind::Deleted {
            index.remove(key);
            let owners = object.owners().iter().filter_map(|owner| self.owner_key(key, owner));
            return index.of(&summary.uid).chain(owners).collect();
        }
        index.put(key, &object);
        let changes_dependents =
            summary.is_deleting && event.previous.as_ref().is_none_or(|it| !it.summary.is_deleting);
        let dependents = if changes_dependents { index.of(&summary.uid).collect() } else { Vec::new() };
        is_of_interest(&event.entry).then(|| key.clone()).into_iter().chain(dependents).collect()
    }

    async fn work(&self, keys: BTreeSet<Key>) {
        for key in keys {
            if let Err(status) = self.tend(&key).await {
                tracing::warn!(%key, error = %status, "garbage collection failed; it is tried again at the next change");
            }
        }
    }

    async fn tend(&self, key: &Key) -> Result<(), Status> {
        let Some(entry) = self.api.store().get(key) else { return Ok(()) };
        let object = &entry.value();
        let owners: Vec<Owner> = object.owners().iter().map(|owner| self.owner(key, owner)).collect();
        let dependents: Vec<Key> = self.index().of(object.uid()).collect();
        let blocking = dependents.iter().filter(|key| self.blocks(key, object.uid())).count();
        match plan(object, &owners, dependents.len(), blocking) {
            Plan::Nothing => Ok(()),
            Plan::Delete(propagation) => {
                let options = DeleteOptions {
                    propagation: Some(propagation),
                    uid: Some(object.uid().to_owned()),
                    resource_version: Some(object.resource_version().to_owned()),
                    ..DeleteOptions::default()
                };
                self.api.remove(key, &options).await.or_else(overtaken)
            }
            Plan::DropOwners(uids) => self.drop_owners(key, &uids).await,
            Plan::DropFinalizer(name) => self.drop_finalizer(key, name).await,
            Plan::OrphanDependents(name) => {
                for dependent in &dependents {
                    self.drop_owners(dependent, &[object.uid().to_owned()]).await?;
                }
                self.drop_finalizer(key, name).await
            }
        }
    }

    async fn drop_owners(&self, key: &Key, uids: &[String]) -> Result<(), Status> {
        let drop = |object: &mut Value| {
            let is_kept = |owner: &&Value| !uids.iter().any(|uid| owner["uid"] == uid.as_str());
            let kept: Vec<Value> = object.owners().iter().filter(is_kept).cloned().collect();
            object.set_meta("ownerReferences", kept);
        };
        self.api.amend(key, None, drop).await
    }

    async fn drop_finalizer(&self, key: &Key, name: &'static str) -> Result<(), Status> {
        let drop = |object: &mut Value| object.remove_finalizer(name);
        self.api.amend(key, None, drop).await
    }

    /// What became of an owner that an object names.
    fn owner(&self, dependent: &Key, reference: &Value) -> Owner {
        let uid = reference["uid"].as_str().unwrap_or_default().to_owned();
        let Some(key) = self.owner_key(dependent, reference) else { return Owner::unknown(uid) };
        match self.api.store().get(&key).filter(|entry| *entry.summary.uid == *uid) {
            Some(entry) => Owner::there(uid, &entry.value()),
            None => Owner::gone(uid),
        }
    }

    /// Where an owner is; owners in namespaces are in that of the object they own.
    fn owner_key(&self, dependent: &Key, reference: &Value) -> Option<Key> {
        let text = |field: &str| reference[field].as_str().unwrap_or_default();
        let registry = self.api.registry();
        let resource = registry.find_kind(text("apiVersion"), text("kind"))?;
        let namespace = if resource.is_namespaced { Some(dependent.namespace()?) } else { None };
        Some(resource.key(namespace, text("name")))
    }

    fn blocks(&self, dependent: &Key, owner: &str) -> bool {
        let Some(entry) = self.api.store().get(dependent) else { return false };
        entry.value().owners().iter().any(|it| it["uid"] == owner && it["blockOwnerDeletion"] == true)
    }

    fn index(&self) -> std::sync::MutexGuard<'_, Dependents> {
        self.dependents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An object that changed since it was looked at will be looked at again.
fn overtaken(status: Status) -> Result<(), Status> {
    if status.code == 409 { Ok(()) } else { Err(status) }
}

fn is_of_interest(entry: &Entry) -> bool {
    entry.summary.has_owners || entry.summary.is_deleting
}

#[cfg(test)]
mod tests;
