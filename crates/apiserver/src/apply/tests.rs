//! Fixtures of the tests of server-side apply: kinds of Kubernetes itself, and one that has everything.

mod properties;
mod recorded;
mod tables;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

use serde_json::{Value, json};

use super::typing::Type;
use super::*;
use crate::schema::{Published, from_open_api};

const NOW: &str = "2026-11-15T12:00:00Z";
const METADATA: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const WIDGET: &str = "example.com/v1";

static PUBLISHED: LazyLock<Mutex<Published>> = LazyLock::new(|| {
    let definitions = serde_json::from_str(include_str!("../../kubernetes/definitions.json"));
    Mutex::new(Published::new(definitions.expect("the definitions are JSON")))
});

/// The schema of a kind by the name of its definition.
fn schema(definition: &str) -> Arc<Schema> {
    let mut published = PUBLISHED.lock().expect("no test fails while it reads");
    published.schema(definition).expect("the kind is vendored")
}

static WIDGET_SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let widget: Value = serde_json::from_str(include_str!("recorded/widget.json")).expect("a schema");
    Arc::new(with_metadata(&from_open_api(&widget), &schema(METADATA)))
});

/// The versions of a kind that is the same in all.
struct Kind {
    name: &'static str,
    origin: Origin,
    versions: BTreeMap<String, Version>,
}

impl Kind {
    fn widget() -> Self {
        Self::custom(&WIDGET_SCHEMA, reset_by_custom_resource("", true))
    }

    fn custom(schema: &Arc<Schema>, reset: FieldSet) -> Self {
        let version = Version { schema: Arc::clone(schema), reset };
        let versions =
            ["example.com/v1", "example.com/v1beta1"].map(|name| (name.to_owned(), version.clone()));
        Self { name: "Widget", origin: Origin::Custom, versions: versions.into() }
    }

    fn context(&self) -> Context<'_> {
        Context {
            kind: self.name,
            versions: &self.versions,
            convert: &relabelled,
            origin: self.origin,
            now: NOW.parse().expect("a time"),
        }
    }

    fn apply(&self, live: Option<&Value>, config: &Value, name: &str) -> Result<Value, Status> {
        apply(live, config, &applier(name), false, &self.context())
    }

    fn force(&self, live: &Value, config: &Value, name: &str) -> Value {
        apply(Some(live), config, &applier(name), true, &self.context()).expect("force has its way")
    }

    fn update(&self, live: Option<&Value>, new: Value, name: &str) -> Value {
        update(live, new, &Manager { operation: Operation::Update, ..applier(name) }, &self.context())
    }
}

/// Conversion that changes nothing but the version.
fn relabelled(object: &Value, version: &str) -> Option<Value> {
    let mut object = object.clone();
    object.as_object_mut()?.insert("apiVersion".into(), version.into());
    Some(object)
}

fn applier(name: &str) -> Manager {
    let (name, api_version) = (name.to_owned(), WIDGET.to_owned());
    Manager { name, operation: Operation::Apply, api_version, subresource: String::new() }
}

fn widget(spec: Value) -> Value {
    json!({"apiVersion": WIDGET, "kind": "Widget", "metadata": {"name": "w", "namespace": "default"}, "spec": spec})
}

fn owned_by(object: &Value, name: &str) -> FieldSet {
    let managed = Managed::decode(entries(object)).expect("the server writes what it can read");
    let owners = managed.owners.into_iter().filter(|(identity, _)| identity.name == name);
    owners.map(|(_, owned)| owned.set).next().unwrap_or_default()
}
