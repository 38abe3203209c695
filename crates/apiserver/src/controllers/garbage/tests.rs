//! The collector on a store of its own, with owners at random.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::Controller;
use super::Collector;
use crate::api::{Api, Target};
use crate::object::Object;
use crate::options::{DeleteOptions, Propagation, WriteOptions};
use crate::store::{Disk, Scope, Store};

const MAPS: &str = "configmaps";

async fn api() -> Arc<Api> {
    let api = Arc::new(Api::new(
        Store::start(Disk::backend(redb::backends::InMemoryBackend::new).unwrap(), 10_000).unwrap(),
    ));
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
    api.ensure("namespaces", "", namespace).await.unwrap();
    api
}

fn objects(api: &Api) -> Vec<Value> {
    api.store().list(&Scope::resource(MAPS)).entries.iter().map(|entry| entry.value()).collect()
}

/// Makes an object owned by some of those that are there.
async fn make(api: &Api, number: usize, owners: &[usize]) {
    let there = objects(api);
    let owners: BTreeSet<usize> =
        owners.iter().filter(|_| !there.is_empty()).map(|it| it % there.len().max(1)).collect();
    let reference = |index: &usize| {
        let owner = &there[*index];
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner.name(), "uid": owner.uid(), "blockOwnerDeletion": true})
    };
    let owners: Vec<Value> = owners.iter().map(reference).collect();
    let metadata = json!({"name": format!("m{number}"), "namespace": "default", "ownerReferences": owners});
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    let registry = api.registry();
    let resource = registry.find("", "v1", MAPS).unwrap();
    let target = Target { resource, namespace: Some("default"), subresource: None, agent: "test" };
    api.create(&target, object, &WriteOptions::default()).await.unwrap();
}

/// Lets the collector look until it finds nothing more to do.
async fn settle(api: &Arc<Api>) {
    let collector = Collector::new(Arc::clone(api));
    loop {
        let before = api.store().revision();
        collector.begin().await;
        if api.store().revision() == before {
            return;
        }
    }
}

fn uids(objects: &[Value]) -> BTreeSet<String> {
    objects.iter().map(|object| object.uid().to_owned()).collect()
}

fn owners(object: &Value) -> impl Iterator<Item = &str> {
    object.owners().iter().filter_map(|owner| owner["uid"].as_str())
}

fn propagation() -> impl Strategy<Value = Propagation> {
    prop_oneof![Just(Propagation::Background), Just(Propagation::Foreground), Just(Propagation::Orphan)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_has_a_live_owner_stays_and_what_lost_all_of_them_goes(
        graph in prop::collection::vec(prop::collection::vec(any::<usize>(), 0..3), 1..10),
        deleted in any::<prop::sample::Index>(),
        how in propagation(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let api = api().await;
            for (number, owners) in graph.iter().enumerate() {
                make(&api, number, owners).await;
            }
            let before = objects(&api);
            let victim = &before[deleted.index(before.len())];
            let key = crate::store::Key::new(MAPS, Some("default"), victim.name());
            let options = DeleteOptions { propagation: Some(how), ..DeleteOptions::default() };
            api.remove(&key, &options).await.unwrap();
            settle(&api).await;
            let after = objects(&api);
            let alive = uids(&after);
            assert!(!alive.contains(victim.uid()), "what was deleted is gone");
            for object in &after {
                assert!(owners(object).all(|owner| alive.contains(owner)), "nothing names an owner that is gone");
            }
            for object in before.iter().filter(|object| object.uid() != victim.uid()) {
                let orphaned = how == Propagation::Orphan && owners(object).any(|owner| owner == victim.uid());
                let kept = owners(object).next().is_none() || owners(object).any(|owner| alive.contains(owner)) || orphaned;
                assert_eq!(alive.contains(object.uid()), kept, "{}", object.name());
            }
        });
    }
}
