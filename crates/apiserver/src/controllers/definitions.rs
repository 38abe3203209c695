//! Serves what CustomResourceDefinitions define: reads them, says in their status what became of them, and removes the
//! objects of one that is deleted.

use std::sync::Arc;

use serde_json::Value;

use super::Controller;
use crate::api::Api;
use crate::definition::{self, Definition};
use crate::deletion::CLEANUP;
use crate::object::{Object, time};
use crate::options::{DeleteOptions, Propagation};
use crate::registry::{self, Registry};
use crate::resource::Resource;
use crate::schema::Schema;
use crate::status::Status;
use crate::store::{Entry, Event, Scope};

const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

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

/// Brings the registry and the status of every definition up to date.
pub(crate) async fn serve_definitions(api: &Api) {
    let entries = api.store().list(&Scope::resource(DEFINITIONS)).entries;
    for entry in &entries {
        if let Err(status) = settle(api, entry, &entries).await {
            tracing::warn!(definition = entry.key.name(), error = %status, "a definition's status could not be written");
        }
    }
    let settled = api.store().list(&Scope::resource(DEFINITIONS)).entries;
    let registry = api.registry();
    let resources = settled.iter().flat_map(|entry| resources(entry, &registry));
    api.set_registry(registry.with_defined(resources.collect()));
}

/// The resources of a definition, if it is in use. What was compiled of the same state of it serves on.
fn resources(entry: &Entry, registry: &Registry) -> Vec<Arc<Resource>> {
    if !is_established(&entry.value) {
        return Vec::new();
    }
    let is_same = |resource: &&Arc<Resource>| {
        resource.defined().is_some_and(|defined| defined.since == entry.revision.0)
            && resource.stored_as() == entry.key.name()
    };
    let known: Vec<_> = registry.all().iter().filter(is_same).cloned().collect();
    if known.is_empty() { compiled(entry, registry.metadata()) } else { known }
}

fn compiled(entry: &Entry, metadata: &Arc<Schema>) -> Vec<Arc<Resource>> {
    match Definition::compile(&entry.value) {
        Ok(definition) => registry::resources(definition, entry.revision.0, metadata),
        Err(errors) => {
            tracing::warn!(definition = entry.key.name(), ?errors, "a definition cannot be served");
            Vec::new()
        }
    }
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|it| it["type"] == "Established" && it["status"] == "True")
}

/// Writes what a definition's status should say.
async fn settle(api: &Api, entry: &Entry, all: &[Arc<Entry>]) -> Result<(), Status> {
    let others = all.iter().filter(|other| other.key != entry.key);
    let others: Vec<&Value> = others.map(|other| &other.value).collect();
    let status = definition::status(&entry.value, &others, &time(api.now()));
    if entry.value.get("status") == Some(&status) {
        return Ok(());
    }
    api.amend(&entry.key, Some("status"), |definition| definition["status"] = status.clone()).await
}

/// Removes what a definition that is being deleted defines, and then lets it go.
async fn clean_up(api: &Api) {
    let entries = api.store().list(&Scope::resource(DEFINITIONS)).entries;
    for entry in
        entries.iter().filter(|entry| entry.value.is_deleting() && entry.value.has_finalizer(CLEANUP))
    {
        if let Err(status) = empty(api, entry).await {
            tracing::warn!(definition = entry.key.name(), error = %status, "what a definition defines could not be removed");
        }
    }
}

async fn empty(api: &Api, definition: &Entry) -> Result<(), Status> {
    let objects = api.store().list(&Scope::resource(definition.key.name())).entries;
    if objects.is_empty() {
        let drop = |definition: &mut Value| {
            let kept: Vec<String> =
                definition.finalizers().filter(|it| *it != CLEANUP).map(str::to_owned).collect();
            definition.set_finalizers(kept.iter().map(String::as_str));
        };
        return api.amend(&definition.key, None, drop).await;
    }
    let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
    for object in objects.iter().filter(|object| !object.value.is_deleting()) {
        api.remove(&object.key, &options).await?;
    }
    Ok(())
}
