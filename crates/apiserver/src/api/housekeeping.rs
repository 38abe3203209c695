//! What the server's own controllers do with objects, by key and without a client. The rules are the same for them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::delete::check_preconditions;
use super::{Api, OUTDATED, Proposal, Target};
use crate::decode::FieldValidation;
use crate::object::Object;
use crate::options::{DeleteOptions, WriteOptions};
use crate::resource::Resource;
use crate::status::Status;
use crate::store::{Entry, Key};
use crate::{rules, strategy};

/// To whom fields belong that the server itself writes.
const MANAGER: &str = "kube-controller-manager";

/// The same, for what a kube-apiserver does by itself.
const SERVER: &str = "kube-apiserver";

impl Api {
    /// The resource of a stored object, in the version in which it is stored.
    fn resource_of(&self, key: &Key) -> Result<Arc<Resource>, Status> {
        let message = || format!("nobody knows the rules of {}", key.resource());
        let resource = self.registry().stored_as(key.resource()).cloned();
        resource.ok_or_else(|| Status::new(503, "ServiceUnavailable", message()))
    }

    /// Changes an object, if it is still there.
    pub(crate) async fn amend(
        &self,
        key: &Key,
        subresource: Option<&str>,
        change: impl Fn(&mut Value) + Send + Sync,
    ) -> Result<(), Status> {
        while self.store.get(key).is_some() {
            let resource = self.resource_of(key)?;
            match self.amend_as(&resource, key, subresource, &change).await {
                // Its definition has changed, and the resource will follow.
                Err(status) if status.reason == OUTDATED => self.retired(&resource).await,
                done => return done,
            }
        }
        Ok(())
    }

    /// Changes an object if it is still as it was seen. Whoever wrote it since is an event, and their object is looked at then.
    pub(crate) async fn amend_seen(
        &self,
        entry: &Entry,
        subresource: Option<&str>,
        change: impl Fn(&mut Value) + Send + Sync,
    ) -> Result<(), Status> {
        let seen = entry.revision.to_string();
        let change = |object: &mut Value| {
            if object.resource_version() == seen {
                change(object);
            }
        };
        self.amend(&entry.key, subresource, change).await
    }

    async fn amend_as(
        &self,
        resource: &Resource,
        key: &Key,
        subresource: Option<&str>,
        change: &(impl Fn(&mut Value) + Send + Sync),
    ) -> Result<(), Status> {
        let agent = if rules::is_definition(resource) { SERVER } else { MANAGER };
        let target = Target { resource, namespace: key.namespace(), subresource, agent };
        let propose = |live: Option<&Value>| {
            let mut object = live.cloned().unwrap_or_default();
            change(&mut object);
            Ok(Proposal::Edit(object))
        };
        let updated = self.update(&target, key.name(), &WriteOptions::default(), false, &propose).await;
        gone_is_fine(updated.map(drop))
    }

    /// Writes on a Pod why it will go, if it is the one that is meant, and returns its version after that.
    pub(crate) async fn note_eviction(
        &self,
        target: &Target<'_>,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<String, Status> {
        let condition = json!({
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        });
        let propose = |live: Option<&Value>| {
            let mut pod = live.cloned().unwrap_or_default();
            check_preconditions(target, &pod, options)?;
            strategy::set_pod_condition(&mut pod, condition.clone(), self.now());
            Ok(Proposal::Edit(pod))
        };
        let target = Target { subresource: Some("status"), ..*target };
        let updated = self.update(&target, name, &WriteOptions::default(), false, &propose).await?;
        Ok(updated.object.resource_version().to_owned())
    }

    pub(crate) async fn remove(&self, key: &Key, options: &DeleteOptions) -> Result<(), Status> {
        if self.store.get(key).is_none() {
            return Ok(());
        }
        let resource = self.resource_of(key)?;
        let target =
            Target { resource: &resource, namespace: key.namespace(), subresource: None, agent: MANAGER };
        gone_is_fine(self.delete(&target, key.name(), options).await.map(drop))
    }

    /// A Pod may come right after its namespace, and needs the account that every namespace gets.
    pub(super) async fn provide_account(&self, target: &Target<'_>) -> Result<(), Status> {
        let Some(namespace) = target.namespace.filter(|_| target.resource.stored_as() == "pods") else {
            return Ok(());
        };
        match self.store().get(&Key::new("namespaces", None, namespace)) {
            Some(entry) if !entry.summary.is_deleting => {
                // Boxed, because making the account is a creation too.
                Box::pin(self.ensure("serviceaccounts", "", default_account(namespace))).await
            }
            _ => Ok(()),
        }
    }

    /// Creates an object of one of Kubernetes' own kinds, unless there is one of its name.
    pub(crate) async fn ensure(&self, plural: &str, group: &str, object: Value) -> Result<(), Status> {
        let registry = self.registry();
        let Some(resource) = registry.find(group, "v1", plural) else { return Ok(()) };
        let namespace = object.namespace().map(str::to_owned);
        let name = object.name().to_owned();
        if self.store().get(&resource.key(namespace.as_deref(), &name)).is_some() {
            return Ok(());
        }
        let (object, _) = rules::read(resource, object, FieldValidation::Strict)?;
        let target = Target { resource, namespace: namespace.as_deref(), subresource: None, agent: MANAGER };
        match self.create(&target, object, &WriteOptions::default()).await {
            Err(status) if status.reason == "AlreadyExists" => Ok(()),
            created => created.map(drop),
        }
    }
}

/// The account of Pods that name none.
pub(crate) fn default_account(namespace: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": namespace}})
}

fn gone_is_fine(done: Result<(), Status>) -> Result<(), Status> {
    match done {
        Err(status) if status.code == 404 => Ok(()),
        done => done,
    }
}
