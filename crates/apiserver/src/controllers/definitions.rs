//! Serves what CustomResourceDefinitions define: reads them, says in their status what became of them, and removes the
//! objects of one that is deleted.

use std::sync::Arc;

use serde_json::{Value, json};

use super::driver::Controller;
use crate::api::{Api, DEFINITIONS, is_established};
use crate::definition::{self, Definition};
use crate::deletion::CLEANUP;
use crate::object::{Object, time};
use crate::options::{DeleteOptions, Propagation};
use crate::registry::{self, Registry};
use crate::resource::{Edition, Resource};
use crate::schema::Schema;
use crate::status::Status;
use crate::store::{Entry, Event, EventKind, Key, Scope};

pub(super) struct Definitions(pub Arc<Api>);

/// What there is to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Task {
    /// To serve all definitions as they are, and to say so in their status.
    Serve,
    /// To remove what the definition of this name defines, if it is deleted.
    Empty(String),
}

impl Controller for Definitions {
    const NAME: &'static str = "definitions";
    const RESOURCES: &'static [&'static str] = &[];
    type Item = Task;

    fn api(&self) -> &Api {
        &self.0
    }

    fn all(&self) -> Vec<Task> {
        let definitions = self.0.store().list(&Scope::resource(DEFINITIONS)).entries;
        let empty = definitions.iter().map(|entry| Task::Empty(entry.key.name().to_owned()));
        [Task::Serve].into_iter().chain(empty).collect()
    }

    fn touched(&self, event: &Event) -> Vec<Task> {
        let key = &event.entry.key;
        match event.kind {
            _ if key.resource() == DEFINITIONS => vec![Task::Serve, Task::Empty(key.name().to_owned())],
            EventKind::Deleted => vec![Task::Empty(key.resource().to_owned())],
            EventKind::Added | EventKind::Modified => Vec::new(),
        }
    }

    async fn tend(&self, task: &Task) -> Result<(), Status> {
        let Task::Empty(name) = task else { return serve_definitions(&self.0).await };
        let Some(entry) = self.0.store().get(&Key::new(DEFINITIONS, None, name)) else { return Ok(()) };
        if !entry.summary.is_deleting || !entry.summary.has_finalizer(CLEANUP) {
            return Ok(());
        }
        empty(&self.0, &entry).await
    }
}

/// Brings the registry and the status of every definition up to date. What a status says is served is served before it says
/// so.
pub(crate) async fn serve_definitions(api: &Api) -> Result<(), Status> {
    let entries = api.store().list(&Scope::resource(DEFINITIONS)).entries;
    let outlines: Vec<Value> = entries.iter().map(|entry| outline(entry)).collect();
    let statuses = definition::statuses(&outlines, &time(api.now()));
    let registry = api.registry();
    let established = entries.iter().zip(&statuses).filter(|(_, status)| is_established(status));
    let resources = established.flat_map(|(entry, _)| resources(entry, &registry));
    api.set_registry(registry.with_defined(resources.collect()));
    let mut outcome = Ok(());
    for ((entry, outline), status) in entries.iter().zip(&outlines).zip(statuses) {
        if outline["status"] != status {
            outcome = outcome.and(settle(api, entry, status).await);
        }
    }
    outcome
}

/// The resources of a definition. What was compiled of the same edition of it serves on.
fn resources(entry: &Entry, registry: &Registry) -> Vec<Arc<Resource>> {
    let is_same = |resource: &&Arc<Resource>| {
        resource.stored_as() == entry.key.name()
            && resource.defined().is_some_and(|defined| defined.edition.is_of(entry))
    };
    let known: Vec<_> = registry.known().filter(is_same).cloned().collect();
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
async fn empty(api: &Api, definition: &Entry) -> Result<(), Status> {
    let name = definition.key.name();
    let objects = api.store().list(&Scope::resource(name)).entries;
    let now = time(api.now());
    // Under the name of one of Kubernetes' own kinds, nothing is the definition's.
    if objects.is_empty() || api.registry().has_built_in(name) {
        return let_go(api, definition, &now).await;
    }
    let report = |crd: &mut Value| {
        crd["status"] = definition::deletion_status(crd, definition::Emptying::InProgress, &now);
    };
    api.amend(&definition.key, Some("status"), report).await?;
    let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
    let mut outcome = Ok(());
    for object in objects.iter().filter(|object| !object.summary.is_deleting) {
        outcome = outcome.and(api.remove(&object.key, &options).await);
    }
    outcome
}

/// A definition that others hold says that nothing is left; the event of that brings it back here.
async fn let_go(api: &Api, definition: &Entry, now: &str) -> Result<(), Status> {
    let outline = outline(definition);
    let done = definition::deletion_status(&outline, definition::Emptying::Completed, now);
    let is_held = definition.summary.finalizers().any(|finalizer| finalizer != CLEANUP);
    if is_held && outline["status"] != done {
        return settle(api, definition, done).await;
    }
    api.amend_seen(definition, None, |crd| crd.remove_finalizer(CLEANUP)).await
}
