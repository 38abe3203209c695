//! What holds of all operations together, tried on a store of its own: no write is lost, and a watch tells exactly what
//! happened.

mod races;
mod refusals;

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Api, FeedEvent, Proposal, Target};
use crate::object::Object;
use crate::options::{DeleteOptions, ListOptions, Query, WriteOptions};
use crate::resource::Resource;
use crate::store::{Disk, Store};

fn api() -> Arc<Api> {
    let store = Store::start(Disk::backend(redb::backends::InMemoryBackend::new).unwrap(), 10_000).unwrap();
    Arc::new(Api::new(store))
}

fn config_maps(api: &Api) -> Arc<Resource> {
    Arc::clone(api.registry().find("", "v1", "configmaps").unwrap())
}

fn target(resource: &Resource) -> Target<'_> {
    Target { resource, namespace: Some("default"), subresource: None, agent: "test" }
}

fn config_map(name: &str, label: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"on": label}}})
}

#[derive(Debug, thiserror::Error)]
#[error("the store could not write")]
struct Trouble(#[source] std::io::Error);

#[test]
fn who_writes_learns_what_led_to_an_error() {
    let full = Trouble(std::io::Error::other("the disk is full"));
    assert_eq!(super::explained(&full), "the store could not write: the disk is full");
}

async fn with_namespace() -> Arc<Api> {
    let api = api();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
    api.ensure("namespaces", "", namespace).await.unwrap();
    api
}

/// Of a kind of its own, whose objects [`bolt`] makes.
pub(crate) fn definition() -> Value {
    let schema = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    let version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "bolts.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "bolts", "kind": "Bolt"},
                 "versions": [version]},
    })
}

pub(crate) fn bolt(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Bolt", "metadata": {"name": name}})
}

#[tokio::test(flavor = "multi_thread")]
async fn no_increment_of_many_writers_is_lost() {
    let api = with_namespace().await;
    let resource = config_maps(&api);
    api.create(&target(&resource), config_map("counter", "x"), &WriteOptions::default()).await.unwrap();
    let writers = (0..8).map(|_| {
        let (api, resource) = (Arc::clone(&api), Arc::clone(&resource));
        tokio::spawn(async move {
            for _ in 0..25 {
                api.update(&target(&resource), "counter", &WriteOptions::default(), false, &increment)
                    .await
                    .unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let counter = api.get(&target(&resource), "counter").unwrap();
    assert_eq!(counter.value()["data"]["count"], "200");
}

#[expect(clippy::unnecessary_wraps, reason = "a proposal may be refused")]
fn increment(live: Option<&Value>) -> Result<Proposal, crate::status::Status> {
    let mut object = live.cloned().unwrap();
    let count: u32 = object["data"]["count"].as_str().unwrap_or("0").parse().unwrap();
    object["data"] = json!({"count": (count + 1).to_string()});
    Ok(Proposal::Edit(object))
}

/// One step in the life of a few objects.
#[derive(Clone, Copy, Debug)]
enum Step {
    Put(u8, bool),
    Delete(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..4u8, any::<bool>()).prop_map(|(name, on)| Step::Put(name, on)),
        1 => (0..4u8).prop_map(Step::Delete),
    ]
}

async fn take(api: &Api, resource: &Resource, step: Step) {
    let (Step::Put(name, _) | Step::Delete(name)) = step;
    let name = format!("m{name}");
    match step {
        Step::Delete(_) => drop(api.delete(&target(resource), &name, &DeleteOptions::default()).await),
        Step::Put(_, on) => {
            let wanted = config_map(&name, if on { "yes" } else { "no" });
            let edit = |live: Option<&Value>| {
                let mut object = live.cloned().unwrap_or_else(|| wanted.clone());
                object["metadata"]["labels"] = wanted["metadata"]["labels"].clone();
                Ok(Proposal::Edit(object))
            };
            api.update(&target(resource), &name, &WriteOptions::default(), true, &edit).await.unwrap();
        }
    }
}

fn options(query: &str) -> ListOptions {
    ListOptions::parse(&Query::parse(Some(query))).unwrap()
}

/// Names and versions of what a selector shows.
fn shown(api: &Api, resource: &Resource) -> BTreeMap<String, String> {
    let page = api.list(&target(resource), &options("labelSelector=on%3Dyes")).unwrap();
    page.entries.iter().map(|entry| identity(&entry.value())).collect()
}

fn identity(object: &Value) -> (String, String) {
    (object.name().to_owned(), object.resource_version().to_owned())
}

async fn replay(
    api: &Api,
    resource: &Arc<Resource>,
    after: &str,
    mut state: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let query = format!("labelSelector=on%3Dyes&watch=true&resourceVersion={after}");
    let mut feed = api.watch(resource, &target(resource), &options(&query)).unwrap();
    while let Ok(event) = tokio::time::timeout(std::time::Duration::ZERO, feed.next()).await {
        match event {
            FeedEvent::Added(entry) => {
                assert!(state.insert(entry.key.name().into(), identity(&entry.value()).1).is_none());
            }
            FeedEvent::Modified(entry) => {
                assert!(state.insert(entry.key.name().into(), identity(&entry.value()).1).is_some());
            }
            FeedEvent::Deleted(entry) => assert!(state.remove(entry.key.name()).is_some()),
            FeedEvent::Bookmark { .. } => {}
            FeedEvent::Error(status) => panic!("{status}"),
        }
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_watch_from_any_version_leads_from_the_list_of_then_to_the_list_of_now(
        before in prop::collection::vec(step(), 0..12),
        after in prop::collection::vec(step(), 0..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let api = with_namespace().await;
            let resource = config_maps(&api);
            for step in before {
                take(&api, &resource, step).await;
            }
            let (then, version) = (shown(&api, &resource), api.store().revision().to_string());
            for step in after {
                take(&api, &resource, step).await;
            }
            assert_eq!(replay(&api, &resource, &version, then).await, shown(&api, &resource));
        });
    }
}
