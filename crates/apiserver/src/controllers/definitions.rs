//! Serves what CustomResourceDefinitions define: reads them, says in their status what became of them, and removes the
//! objects of one that is deleted.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Controller;
use crate::api::{Api, DEFINITIONS, is_established};
use crate::definition::{self, Definition};
use crate::deletion::CLEANUP;
use crate::object::{Object, time};
use crate::options::{DeleteOptions, Propagation};
use crate::registry::{self, Registry};
use crate::resource::{Edition, Resource};
use crate::schema::Schema;
use crate::status::Status;
use crate::store::{Entry, Event, Scope};

pub(super) struct Definitions(pub Arc<Api>);

impl Controller for Definitions {
    const RESOURCES: &'static [&'static str] = &[];

    fn api(&self) -> &Api {
        &self.0
    }

    async fn begin(&self) {
        serve_definitions(&self.0).await;
        clean_up(&self.0).await;
    }

    async fn take(&self, events: Vec<Event>) {
        if events.iter().any(|event| event.entry.key.resource() == DEFINITIONS) {
            serve_definitions(&self.0).await;
        }
        clean_up(&self.0).await;
    }
}

/// Brings the registry and the status of every definition up to date. What a status says is served is served before it says
/// so.
pub(crate) async fn serve_definitions(api: &Api) {
    let entries = api.store().list(&Scope::resource(DEFINITIONS)).entries;
    let outlines: Vec<Value> = entries.iter().map(|entry| outline(entry)).collect();
    let statuses = definition::statuses(&outlines, &time(api.now()));
    let registry = api.registry();
    let established = entries.iter().zip(&statuses).filter(|(_, status)| is_established(status));
    let resources = established.flat_map(|(entry, _)| resources(entry, &registry));
    api.set_registry(registry.with_defined(resources.collect()));
    let is_news = |(outline, status): &(Value, Value)| outline["status"] != *status;
    for (entry, (_, status)) in
        entries.iter().zip(outlines.into_iter().zip(statuses)).filter(|it| is_news(&it.1))
    {
        if let Err(error) = settle(api, entry, status).await {
            tracing::warn!(definition = entry.key.name(), %error, "a definition's status could not be written");
        }
    }
}

/// The resources of a definition. What was compiled of the same edition of it serves on.
fn resources(entry: &Entry, registry: &Registry) -> Vec<Arc<Resource>> {
    let is_same = |resource: &&Arc<Resource>| {
        resource.stored_as() == entry.key.name()
            && resource.defined().is_some_and(|defined| defined.edition.is_of(entry))
    };
    let known: Vec<_> = registry.all().iter().filter(is_same).cloned().collect();
    if known.is_empty() { compiled(entry, registry.metadata()) } else { known }
}

fn compiled(entry: &Entry, metadata: &Arc<Schema>) -> Vec<Arc<Resource>> {
    match Definition::compile(&entry.value()) {
        Ok(definition) => registry::resources(definition, &Edition::of(entry), metadata),
        Err(errors) => {
            tracing::warn!(definition = entry.key.name(), ?errors, "a definition cannot be served");
            Vec::new()
        }
    }
}

/// A definition without its schemas, which are large, and of which its status does not speak.
fn outline(entry: &Entry) -> Value {
    let at = |pointer| entry.text.at(pointer);
    let spec = json!({"group": at("/spec/group"), "names": at("/spec/names")});
    json!({"metadata": at("/metadata"), "spec": spec, "status": at("/status")})
}

async fn settle(api: &Api, entry: &Entry, status: Value) -> Result<(), Status> {
    api.amend_seen(entry, Some("status"), |definition| definition["status"] = status.clone()).await
}

/// Removes what a definition that is being deleted defines, and then lets it go.
async fn clean_up(api: &Api) {
    let entries = api.store().list(&Scope::resource(DEFINITIONS)).entries;
    for entry in
        entries.iter().filter(|entry| entry.summary.is_deleting && entry.summary.has_finalizer(CLEANUP))
    {
        if let Err(status) = empty(api, entry).await {
            tracing::warn!(definition = entry.key.name(), error = %status, "what a definition defines could not be removed");
        }
    }
}

async fn empty(api: &Api, definition: &Entry) -> Result<(), Status> {
    let name = definition.key.name();
    let objects = api.store().list(&Scope::resource(name)).entries;
    let now = time(api.now());
    // Under the name of one of Kubernetes' own kinds, nothing is the definition's.
    if objects.is_empty() || api.registry().has_built_in(name) {
        return let_go(api, definition, &now).await;
    }
    let report = |crd: &mut Value| {
        crd["status"] = definition::deletion_status(crd, definition::Deletion::InProgress, &now);
    };
    api.amend(&definition.key, Some("status"), report).await?;
    let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
    for object in objects.iter().filter(|object| !object.summary.is_deleting) {
        api.remove(&object.key, &options).await?;
    }
    Ok(())
}

/// A definition that others hold says that nothing is left; the event of that brings it back here.
async fn let_go(api: &Api, definition: &Entry, now: &str) -> Result<(), Status> {
    let outline = outline(definition);
    let done = definition::deletion_status(&outline, definition::Deletion::Completed, now);
    let is_held = definition.summary.finalizers().any(|finalizer| finalizer != CLEANUP);
    if is_held && outline["status"] != done {
        return settle(api, definition, done).await;
    }
    api.amend_seen(definition, None, |crd| crd.remove_finalizer(CLEANUP)).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::options::DeleteOptions;
    use crate::store::{Disk, Key, Store};

    const ROLES: &str = "clusterroles.rbac.authorization.k8s.io";

    fn definition() -> Value {
        let version = json!({
            "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}},
        });
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": ROLES, "annotations": {"api-approved.kubernetes.io": "https://example.com/pull/1"}},
            "spec": {
                "group": "rbac.authorization.k8s.io", "scope": "Cluster", "versions": [version],
                "names": {"plural": "clusterroles", "kind": "ClusterRole"},
            },
        })
    }

    #[tokio::test]
    async fn a_definition_neither_hides_nor_takes_along_kubernetes_own_kinds() {
        let disk = Disk::backend(redb::backends::InMemoryBackend::new).unwrap();
        let api = Arc::new(Api::new(Store::start(disk, 1000).unwrap()));
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "kept"}});
        api.ensure("clusterroles", "rbac.authorization.k8s.io", role).await.unwrap();
        api.ensure("customresourcedefinitions", "apiextensions.k8s.io", definition()).await.unwrap();
        let controller = Definitions(Arc::clone(&api));
        controller.begin().await;
        let registry = api.registry();
        let found = registry.find("rbac.authorization.k8s.io", "v1", "clusterroles").unwrap();
        assert!(found.is_built_in());

        let definition = Key::new(DEFINITIONS, None, ROLES);
        api.remove(&definition, &DeleteOptions::default()).await.unwrap();
        controller.begin().await;
        assert!(api.store().get(&definition).is_none(), "it is gone");
        assert!(api.store().get(&Key::new(ROLES, None, "kept")).is_some(), "and nothing went with it");
    }
}
