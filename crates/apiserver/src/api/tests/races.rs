//! What is decided on other objects holds when it is written: nothing comes into a namespace or a kind that is going away,
//! no two Services get one address, and no object is written by a definition of before.

use std::future::poll_fn;
use std::task::Poll;

use super::*;
use crate::api::ground::Ground;
use crate::api::{DEFINITIONS, OUTDATED};
use crate::controllers::serve_definitions;
use crate::status::Status;
use crate::store::{Key, Precondition, Rejection, Scope, WriteError};

async fn make(api: &Api, resource: &Resource, object: Value) -> Result<Value, Status> {
    let namespace = resource.is_namespaced.then_some("default");
    let target = Target { namespace, ..target(resource) };
    api.create(&target, object, &WriteOptions::default()).await.map(|created| created.object)
}

/// Whether an object that was decided on this ground would still be stored.
async fn holds(api: &Api, ground: &Ground, target: &Target<'_>) -> bool {
    let name = uuid::Uuid::new_v4().to_string();
    match api.store_new(ground, target, &name, json!({}), &WriteOptions::default()).await {
        Ok(_) => true,
        Err(WriteError::Rejected(Rejection::Outdated(_))) => false,
        Err(error) => panic!("{error}"),
    }
}

fn ground(api: &Api, target: &Target<'_>) -> Ground {
    api.ground_of_new(target, "").unwrap_or_else(|status| panic!("{status}"))
}

#[tokio::test]
async fn nothing_comes_into_a_namespace_after_it_began_to_go() {
    let api = with_namespace().await;
    let maps = config_maps(&api);
    let namespaces = Arc::clone(api.registry().find("", "v1", "namespaces").unwrap());
    let (inside, place) = (
        Target { namespace: Some("team"), ..target(&maps) },
        Target { namespace: None, ..target(&namespaces) },
    );
    let nowhere = ground(&api, &inside);
    assert!(!holds(&api, &nowhere, &inside).await);
    api.ensure(
        "namespaces",
        "",
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}),
    )
    .await
    .unwrap();
    assert!(!holds(&api, &nowhere, &inside).await, "it was not there when that was decided");
    let there = ground(&api, &inside);
    assert!(holds(&api, &there, &inside).await);
    api.delete(&place, "team", &DeleteOptions::default()).await.unwrap();
    assert!(!holds(&api, &there, &inside).await);
    assert_eq!(
        api.create(&inside, config_map("late", "x"), &WriteOptions::default()).await.unwrap_err().code,
        403
    );
}

fn service(name: &str) -> Value {
    let spec =
        json!({"type": "NodePort", "clusterIP": "10.96.9.9", "ports": [{"port": 80, "nodePort": 30080}]});
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_goes_to_one_service_however_many_ask_at_once() {
    let api = with_namespace().await;
    let services = Arc::clone(api.registry().find("", "v1", "services").unwrap());
    let makers = (0..16).map(|number| {
        let (api, services) = (Arc::clone(&api), Arc::clone(&services));
        tokio::spawn(async move { make(&api, &services, service(&format!("s{number}"))).await })
    });
    let mut made = 0;
    for maker in makers.collect::<Vec<_>>() {
        match maker.await.unwrap() {
            Ok(_) => made += 1,
            Err(status) => assert!(status.message.contains("provided IP is already allocated"), "{status}"),
        }
    }
    assert_eq!(made, 1);
}

async fn with_definition() -> (Arc<Api>, Arc<Resource>) {
    let api = with_namespace().await;
    api.ensure("customresourcedefinitions", "apiextensions.k8s.io", definition()).await.unwrap();
    serve_definitions(&api).await.unwrap();
    let bolts = Arc::clone(api.registry().find("example.com", "v1", "bolts").unwrap());
    (api, bolts)
}

fn definitions(api: &Api) -> Arc<Resource> {
    Arc::clone(api.registry().find("apiextensions.k8s.io", "v1", "customresourcedefinitions").unwrap())
}

#[tokio::test]
async fn nothing_is_made_of_a_kind_that_is_going_or_gone() {
    let (api, bolts) = with_definition().await;
    let definitions = definitions(&api);
    let place = Target { namespace: None, ..target(&definitions) };
    let there = ground(&api, &target(&bolts));
    assert!(holds(&api, &there, &target(&bolts)).await);
    api.delete(&place, "bolts.example.com", &DeleteOptions::default()).await.unwrap();
    assert!(!holds(&api, &there, &target(&bolts)).await);
    serve_definitions(&api).await.unwrap();
    assert!(api.registry().serves(&bolts), "watches see its objects go");
    let refused = make(&api, &bolts, bolt("later")).await.unwrap_err();
    let why = "bolts.example.com \"later\" is forbidden: create not allowed while custom resource definition is terminating";
    assert_eq!((refused.code, refused.message.as_str()), (403, why));
    let key = Key::new(DEFINITIONS, None, "bolts.example.com");
    api.store().delete(key, Precondition::Present).await.unwrap();
    assert_eq!(make(&api, &bolts, bolt("latest")).await.unwrap_err().code, 404);
}

#[tokio::test]
async fn what_was_read_by_one_edition_of_a_definition_is_not_written_under_the_next() {
    let (api, bolts) = with_definition().await;
    make(&api, &bolts, bolt("held")).await.unwrap();
    let key = Key::new(DEFINITIONS, None, "bolts.example.com");
    let tighter = |live: &mut Value| {
        live["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["required"] = json!(["size"]);
    };
    api.amend(&key, None, tighter).await.unwrap();
    assert_eq!(make(&api, &bolts, bolt("loose")).await.unwrap_err().reason, OUTDATED);
    let touch = |live: Option<&Value>| Ok(Proposal::Edit(live.cloned().unwrap()));
    let touched = api.update(&target(&bolts), "held", &WriteOptions::default(), false, &touch).await;
    assert_eq!(touched.unwrap_err().reason, OUTDATED);
    let retired = api.retired(&bolts);
    let ((), served) = tokio::join!(retired, serve_definitions(&api));
    served.unwrap();
    let bolts = Arc::clone(api.registry().find("example.com", "v1", "bolts").unwrap());
    assert_eq!(make(&api, &bolts, bolt("loose")).await.unwrap_err().reason, "Invalid");
}

#[tokio::test]
async fn what_was_decided_on_a_state_of_before_is_not_written_over_the_next() {
    let api = with_namespace().await;
    let maps = config_maps(&api);
    make(&api, &maps, config_map("a", "x")).await.unwrap();
    let seen = api.get(&target(&maps), "a").unwrap();
    let set = |value: &'static str| move |map: &mut Value| map["data"] = json!({"by": value});
    api.amend(&seen.key, None, set("somebody")).await.unwrap();
    api.amend_seen(&seen, None, set("us")).await.unwrap();
    assert_eq!(api.get(&target(&maps), "a").unwrap().value()["data"]["by"], "somebody");
    let seen = api.get(&target(&maps), "a").unwrap();
    api.amend_seen(&seen, None, set("us")).await.unwrap();
    assert_eq!(api.get(&target(&maps), "a").unwrap().value()["data"]["by"], "us");
}

#[tokio::test]
async fn a_pod_that_nobody_runs_is_never_seen_waiting_for_its_end() {
    let api = with_namespace().await;
    let pods = Arc::clone(api.registry().find("", "v1", "pods").unwrap());
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
                     "spec": {"containers": [{"name": "a", "image": "b"}]}});
    let (pod, _) = crate::rules::read(&pods, pod, crate::decode::FieldValidation::Strict).unwrap();
    make(&api, &pods, pod).await.unwrap();
    let mut watch = api.store().watch(Scope::resource("pods"), api.store().revision()).unwrap();
    let (options, place) = (DeleteOptions::default(), target(&pods));
    let mut deletion = Box::pin(api.delete(&place, "a", &options));
    // Dropped while it waits for the disk, as when its client hangs up.
    poll_fn(|context| Poll::Ready(deletion.as_mut().poll(context).is_pending())).await;
    drop(deletion);
    watch.next().await.unwrap();
    assert!(api.get(&target(&pods), "a").is_err());
}
