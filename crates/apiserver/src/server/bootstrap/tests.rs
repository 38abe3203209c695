//! Starts on a store that an older program, a user or a crash left behind.

use asb_types::annotations::{AUTO_UPDATE, DEFINITION_REVISION};
use futures::future::poll_immediate;
use serde_json::{Value, json};

use super::run;
use crate::api::Api;
use crate::controllers::serve_definitions;
use crate::object::Object;
use crate::options::DeleteOptions;
use crate::security::authorization::GROUP;
use crate::store::{Disk, Key, Precondition, Scope, Store};

const DEFINITION: &str = "sandboxes.agents.x-k8s.io";

fn empty() -> Api {
    Api::new(Store::start(Disk::backend(redb::backends::InMemoryBackend::new).unwrap(), 10_000).unwrap())
}

async fn start(api: &Api) {
    run(api).await.unwrap();
    serve_definitions(api).await.unwrap();
}

async fn started() -> Api {
    let api = empty();
    start(&api).await;
    api
}

fn definition() -> Key {
    Key::new(crate::api::DEFINITIONS, None, DEFINITION)
}

fn role(name: &str) -> Key {
    Key::new(&format!("clusterroles.{GROUP}"), None, name)
}

fn binding(name: &str) -> Key {
    Key::new(&format!("clusterrolebindings.{GROUP}"), None, name)
}

fn get(api: &Api, key: &Key) -> Value {
    api.store().get(key).unwrap().value()
}

async fn change(api: &Api, key: &Key, change: impl Fn(&mut Value) + Send + Sync) {
    api.amend(key, None, change).await.unwrap();
}

/// What an older program would have written, and some things that users did.
async fn age(api: &Api) {
    change(api, &definition(), |it| {
        it["metadata"]["annotations"][DEFINITION_REVISION] = "0".into();
        it["spec"]["names"]["shortNames"] = json!(["sb"]);
    })
    .await;
    change(api, &role("system:discovery"), |it| it["rules"] = json!([])).await;
    change(api, &binding("system:discovery"), |it| it["subjects"] = json!([])).await;
    api.remove(&role("system:basic-user"), &DeleteOptions::default()).await.unwrap();
}

/// Everything that a start writes, without what is new with every write.
fn outcome(api: &Api) -> Vec<Value> {
    let resources = ["namespaces".to_owned(), crate::api::DEFINITIONS.to_owned()];
    let rules = ["clusterroles", "clusterrolebindings"].map(|plural| format!("{plural}.{GROUP}"));
    let entries =
        resources.iter().chain(&rules).flat_map(|it| api.store().list(&Scope::resource(it)).entries);
    entries.map(|entry| bare(entry.value())).collect()
}

fn bare(mut object: Value) -> Value {
    for field in ["managedFields", "uid", "resourceVersion", "creationTimestamp", "generation"] {
        object.meta_mut().remove(field);
    }
    object.as_object_mut().unwrap().remove("status");
    object
}

#[tokio::test]
async fn a_second_start_writes_nothing() {
    let api = started().await;
    let before = api.store().revision();
    start(&api).await;
    assert_eq!(api.store().revision(), before);
}

#[tokio::test]
async fn what_an_older_program_left_is_brought_up_to_date_once() {
    let api = started().await;
    let fresh = get(&api, &definition())["spec"].clone();
    age(&api).await;
    start(&api).await;
    assert_eq!(get(&api, &definition())["spec"], fresh);
    assert!(!get(&api, &role("system:discovery"))["rules"].as_array().unwrap().is_empty());
    assert!(!get(&api, &binding("system:discovery"))["subjects"].as_array().unwrap().is_empty());
    let before = api.store().revision();
    start(&api).await;
    assert_eq!(api.store().revision(), before);
}

#[tokio::test]
async fn what_users_added_stays() {
    let api = started().await;
    let rule = json!({"apiGroups": ["x"], "resources": ["y"], "verbs": ["z"]});
    change(&api, &role("system:discovery"), |it| it["rules"] = json!([rule])).await;
    change(&api, &definition(), |it| it["metadata"]["labels"] = json!({"team": "a"})).await;
    start(&api).await;
    assert_eq!(get(&api, &role("system:discovery"))["rules"][0], rule);
    assert_eq!(get(&api, &definition())["metadata"]["labels"], json!({"team": "a"}));
}

#[tokio::test]
async fn a_marked_and_a_newer_definition_are_left() {
    for (annotation, value) in [(AUTO_UPDATE, "false"), (DEFINITION_REVISION, "999")] {
        let api = started().await;
        change(&api, &definition(), |it| {
            it["metadata"]["annotations"][annotation] = value.into();
            it["spec"]["names"]["shortNames"] = json!(["sb"]);
        })
        .await;
        let before = get(&api, &definition());
        run(&api).await.unwrap();
        assert!(get(&api, &definition()) == before, "{annotation}");
    }
}

#[tokio::test]
async fn a_binding_to_a_role_of_old_is_made_anew() {
    let api = started().await;
    let expected = bare(get(&api, &binding("system:discovery")));
    api.remove(&binding("system:discovery"), &DeleteOptions::default()).await.unwrap();
    let mut old = expected.clone();
    old["roleRef"]["name"] = "old".into();
    api.ensure("clusterrolebindings", GROUP, old).await.unwrap();
    start(&api).await;
    assert_eq!(bare(get(&api, &binding("system:discovery"))), expected);
}

/// The scope of a kind cannot be changed back by an update.
#[tokio::test]
async fn a_definition_that_cannot_be_put_back_does_not_stop_a_start() {
    let api = started().await;
    let mut other = bare(get(&api, &definition()));
    other["spec"]["scope"] = "Cluster".into();
    api.store().delete(definition(), Precondition::Present).await.unwrap();
    api.ensure("customresourcedefinitions", "apiextensions.k8s.io", other).await.unwrap();
    serve_definitions(&api).await.unwrap();
    start(&api).await;
    assert_eq!(get(&api, &definition())["spec"]["scope"], "Cluster");
}

/// A crash is a start that is not polled any more; what it had handed to the store is written or not.
#[tokio::test]
async fn a_start_that_was_cut_off_anywhere_is_completed_by_the_next() {
    let whole = started().await;
    age(&whole).await;
    start(&whole).await;
    for writes in 0..4 {
        let api = started().await;
        age(&api).await;
        let enough = api.store().revision().0 + writes;
        let mut cut = Box::pin(run(&api));
        while api.store().revision().0 < enough && poll_immediate(&mut cut).await.is_none() {
            tokio::task::yield_now().await;
        }
        drop(cut);
        start(&api).await;
        assert!(outcome(&api) == outcome(&whole), "cut off after {writes} writes");
    }
}
