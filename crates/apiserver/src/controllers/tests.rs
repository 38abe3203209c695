//! Several controllers on one store: what one leaves, another finds.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::driver::Driver;
use super::*;
use crate::api::{DEFINITIONS, Target};
use crate::decode::FieldValidation;
use crate::options::{DeleteOptions, WriteOptions};
use crate::rules;
use crate::store::{Disk, Key, Scope, Store};

pub(super) async fn api() -> Arc<Api> {
    let disk = Disk::backend(redb::backends::InMemoryBackend::new).unwrap();
    let api = Arc::new(Api::new(Store::start(disk, 10_000).unwrap()));
    for name in ["default", "other"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        api.ensure("namespaces", "", namespace).await.unwrap();
    }
    api
}

/// Creates an object in v1 of a resource, in the namespace that it names.
pub(super) async fn make(api: &Api, group: &str, plural: &str, object: Value) -> Value {
    let registry = api.registry();
    let resource = registry.find(group, "v1", plural).unwrap();
    let (object, _) = rules::read(resource, object, FieldValidation::Strict).unwrap();
    let namespace = object["metadata"]["namespace"].as_str().map(str::to_owned);
    let target = Target { resource, namespace: namespace.as_deref(), subresource: None, agent: "test" };
    api.create(&target, object, &WriteOptions::default()).await.unwrap().object
}

fn version(name: &str, is_served: bool, is_stored: bool) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    json!({"name": name, "served": is_served, "storage": is_stored, "schema": schema})
}

async fn define(api: &Api, versions: &[Value]) {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": GEARS},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": versions,
            "names": {"plural": "gears", "kind": "Gear"},
        },
    });
    make(api, "apiextensions.k8s.io", "customresourcedefinitions", definition).await;
    serve_definitions(api).await.unwrap();
}

const GEARS: &str = "gears.example.com";

async fn make_gear(api: &Api, namespace: &str) -> Value {
    let metadata = json!({"name": "gear", "namespace": namespace, "labels": {"teeth": "12"}});
    let gear = json!({"apiVersion": "example.com/v1", "kind": "Gear", "metadata": metadata});
    make(api, "example.com", "gears", gear).await
}

async fn make_owned(api: &Api, name: &str, owner: &Value) {
    let (uid, version) = (&owner["metadata"]["uid"], &owner["apiVersion"]);
    let reference = json!({"apiVersion": version, "kind": "Gear", "name": "gear", "uid": uid});
    let metadata = json!({"name": name, "namespace": "default", "ownerReferences": [reference]});
    make(api, "", "configmaps", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).await;
}

async fn delete(api: &Api, key: &Key) {
    api.remove(key, &DeleteOptions::default()).await.unwrap();
}

fn count(api: &Api, resource: &str) -> usize {
    api.store().list(&Scope::resource(resource)).entries.len()
}

#[tokio::test]
async fn what_objects_owned_goes_with_them_even_if_their_kind_is_gone() {
    let api = api().await;
    define(&api, &[version("v1", true, true)]).await;
    let gear = make_gear(&api, "default").await;
    for number in 0..6 {
        make_owned(&api, &format!("owned{number}"), &gear).await;
    }
    let (collector, definitions) =
        (garbage::Collector::new(Arc::clone(&api)), definitions::Definitions(Arc::clone(&api)));
    let (mut garbage, mut definitions) = (Driver::new(&collector), Driver::new(&definitions));
    garbage.settle().await;
    delete(&api, &Key::new(DEFINITIONS, None, GEARS)).await;
    definitions.settle().await;
    assert_eq!((count(&api, DEFINITIONS), count(&api, GEARS), count(&api, "configmaps")), (0, 0, 6));
    garbage.settle().await;
    assert_eq!(count(&api, "configmaps"), 0);
}

#[tokio::test]
async fn an_owner_of_a_kind_that_nobody_knows_is_taken_to_be_there() {
    let api = api().await;
    let owner = json!({"apiVersion": "example.com/v1", "metadata": {"uid": "never-seen"}});
    make_owned(&api, "owned", &owner).await;
    let collector = garbage::Collector::new(Arc::clone(&api));
    Driver::new(&collector).settle().await;
    assert_eq!(count(&api, "configmaps"), 1);
}

#[tokio::test]
async fn an_owner_is_found_by_a_version_that_is_no_longer_served() {
    let api = api().await;
    define(&api, &[version("v1", true, false), version("v2", true, true)]).await;
    let mut gear = make_gear(&api, "default").await;
    gear["apiVersion"] = "example.com/v1alpha1".into();
    make_owned(&api, "owned", &gear).await;
    let collector = garbage::Collector::new(Arc::clone(&api));
    let mut garbage = Driver::new(&collector);
    garbage.settle().await;
    assert_eq!(count(&api, "configmaps"), 1);
    delete(&api, &Key::new(GEARS, Some("default"), "gear")).await;
    garbage.settle().await;
    assert_eq!(count(&api, "configmaps"), 0);
}

#[tokio::test]
async fn objects_that_are_stored_in_a_version_that_is_not_served_go_like_others() {
    let api = api().await;
    define(&api, &[version("v1", true, false), version("v2", false, true)]).await;
    assert!(api.registry().find("example.com", "v2", "gears").is_none());
    make_gear(&api, "default").await;
    make_gear(&api, "other").await;
    let (namespaces, definitions) =
        (namespaces::Namespaces(Arc::clone(&api)), definitions::Definitions(Arc::clone(&api)));
    let mut namespaces = Driver::new(&namespaces);
    delete(&api, &Key::new("namespaces", None, "other")).await;
    namespaces.settle().await;
    assert_eq!((count(&api, "namespaces"), count(&api, GEARS)), (1, 1));
    delete(&api, &Key::new(DEFINITIONS, None, GEARS)).await;
    Driver::new(&definitions).settle().await;
    assert_eq!((count(&api, DEFINITIONS), count(&api, GEARS)), (0, 0));
}

#[tokio::test]
async fn a_change_by_a_controller_leaves_the_managers_of_a_hidden_version() {
    let api = api().await;
    define(&api, &[version("v1", true, false), version("v2", false, true)]).await;
    make_gear(&api, "default").await;
    let key = Key::new(GEARS, Some("default"), "gear");
    api.amend(&key, None, |gear| gear["metadata"]["annotations"] = json!({"a": "b"})).await.unwrap();
    let gear = api.store().get(&key).unwrap().value();
    let managers = gear["metadata"]["managedFields"].as_array().unwrap().iter();
    let managers: BTreeSet<_> =
        managers.map(|it| (it["manager"].as_str(), it["apiVersion"].as_str())).collect();
    let controller = (Some("kube-controller-manager"), Some("example.com/v2"));
    assert_eq!(managers, BTreeSet::from([controller, (Some("test"), Some("example.com/v1"))]));
}

#[tokio::test]
async fn a_definition_neither_hides_nor_takes_along_kubernetes_own_kinds() {
    let (api, group) = (api().await, "rbac.authorization.k8s.io");
    let role =
        json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRole", "metadata": {"name": "kept"}});
    make(&api, group, "clusterroles", role).await;
    let (name, names) =
        (format!("clusterroles.{group}"), json!({"plural": "clusterroles", "kind": "ClusterRole"}));
    let annotations = json!({"api-approved.kubernetes.io": "https://example.com/pull/1"});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"group": group, "scope": "Cluster", "versions": [version("v1", true, true)], "names": names},
    });
    make(&api, "apiextensions.k8s.io", "customresourcedefinitions", definition).await;
    let definitions = definitions::Definitions(Arc::clone(&api));
    let mut definitions = Driver::new(&definitions);
    definitions.settle().await;
    assert!(api.registry().find(group, "v1", "clusterroles").unwrap().is_built_in());
    delete(&api, &Key::new(DEFINITIONS, None, &name)).await;
    definitions.settle().await;
    assert_eq!(
        (count(&api, DEFINITIONS), count(&api, &name)),
        (0, 1),
        "it is gone, and nothing went with it"
    );
}
