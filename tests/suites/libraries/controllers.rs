//! What controllers are made of in kube-rs, over the socket and without one.

use std::convert::Infallible;
use std::future::ready;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use asb_tests::objects::{object, pod_template};
use asb_types::v1beta1::Sandbox;
use futures::{Stream, StreamExt, TryStreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event as Happening};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::controller::Action;
use kube::runtime::events::{Event, EventType, Recorder};
use kube::runtime::finalizer::{Event as Stage, finalizer};
use kube::runtime::reflector::{self, ObjectRef, reflector};
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::server::Server;

const DEADLINE: Duration = Duration::from_secs(30);

fn sandboxes(client: &Client) -> Api<Sandbox> {
    Api::default_namespaced(client.clone())
}

async fn create(client: &Client, name: &str) -> Sandbox {
    let sandbox = object(name, json!({"podTemplate": pod_template()}));
    sandboxes(client).create(&PostParams::default(), &sandbox).await.expect("it is taken")
}

/// The name in the next event, and what became of it.
async fn next(stream: &mut (impl Stream<Item = watcher::Result<watcher::Event<Sandbox>>> + Unpin)) -> String {
    let event =
        timeout(DEADLINE, stream.try_next()).await.expect("it comes in time").expect("it is no error");
    match event.expect("it goes on") {
        watcher::Event::Init => "init".to_owned(),
        watcher::Event::InitDone => "done".to_owned(),
        watcher::Event::InitApply(it) => format!("there is {}", it.name_any()),
        watcher::Event::Apply(it) => format!("put {}", it.name_any()),
        watcher::Event::Delete(it) => format!("gone {}", it.name_any()),
    }
}

/// What a watcher sees of one Sandbox that is there, one that comes, and one that goes.
async fn watched(client: &Client, config: watcher::Config) -> Vec<String> {
    create(client, "first").await;
    let mut stream = pin!(watcher(sandboxes(client), config));
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(next(&mut stream).await);
    }
    create(client, "second").await;
    seen.push(next(&mut stream).await);
    for name in ["first", "second"] {
        sandboxes(client).delete(name, &DeleteParams::default()).await.expect("it goes");
        seen.push(next(&mut stream).await);
    }
    seen
}

#[tokio::test]
async fn watchers_see_everything_by_lists_and_by_streams() {
    let server = Server::start().await;
    for client in server.clients().await {
        let expected = ["init", "there is first", "done", "put second", "gone first", "gone second"];
        assert_eq!(watched(&client, watcher::Config::default()).await, expected);
        assert_eq!(watched(&client, watcher::Config::default().streaming_lists()).await, expected);
        assert_eq!(watched(&client, watcher::Config::default().page_size(1)).await, expected);
    }
}

#[tokio::test]
async fn reflectors_hold_what_there_is() {
    let server = Server::start().await;
    for client in server.clients().await {
        create(&client, "held").await;
        let (reader, writer) = reflector::store();
        let stream = watcher(sandboxes(&client), watcher::Config::default()).default_backoff();
        let fed = reflector(writer, stream).for_each(|_| ready(()));
        tokio::select! {
            () = fed => panic!("a watch does not end"),
            filled = timeout(DEADLINE, reader.wait_until_ready()) => filled.unwrap().unwrap(),
        }
        assert!(reader.get(&ObjectRef::new("held").within("default")).is_some());
        sandboxes(&client).delete("held", &DeleteParams::default()).await.unwrap();
    }
}

/// One step of a controller that cleans up: what it was asked to do.
async fn step(client: &Client, name: &str) -> Option<String> {
    let api = sandboxes(client);
    let sandbox = Arc::new(api.get_opt(name).await.expect("it can be asked for")?);
    let mut stage = "nothing".to_owned();
    finalizer(&api, "example.com/cleanup", sandbox, |event| {
        stage = match event {
            Stage::Apply(_) => "apply".to_owned(),
            Stage::Cleanup(_) => "cleanup".to_owned(),
        };
        async { Ok::<_, Infallible>(Action::await_change()) }
    })
    .await
    .expect("it is let through");
    Some(stage)
}

#[tokio::test]
async fn finalizers_hold_an_object_until_it_is_cleaned_up() {
    let server = Server::start().await;
    for client in server.clients().await {
        create(&client, "held").await;
        assert_eq!(step(&client, "held").await.as_deref(), Some("nothing"));
        assert_eq!(step(&client, "held").await.as_deref(), Some("apply"));
        sandboxes(&client).delete("held", &DeleteParams::default()).await.unwrap();
        assert_eq!(step(&client, "held").await.as_deref(), Some("cleanup"));
        assert_eq!(step(&client, "held").await, None);
    }
}

#[tokio::test]
async fn entries_are_changed_or_made() {
    let server = Server::start().await;
    for client in server.clients().await {
        let api = Api::<ConfigMap>::default_namespaced(client);
        for value in ["1", "2"] {
            let entry = api.entry("settings").await.unwrap();
            let mut entry = entry.or_insert(ConfigMap::default);
            entry.get_mut().data = Some([("a".to_owned(), value.to_owned())].into());
            entry.commit(&PostParams::default()).await.unwrap();
        }
        assert_eq!(api.get("settings").await.unwrap().data.unwrap()["a"], "2");
        api.delete("settings", &DeleteParams::default()).await.unwrap();
    }
}

#[tokio::test]
async fn what_happened_is_recorded_and_repeated_events_are_counted() {
    let server = Server::start().await;
    for client in server.clients().await {
        let sandbox = create(&client, "box").await;
        let recorder = Recorder::new(client.clone(), "me".into());
        let event = Event {
            type_: EventType::Normal,
            reason: "Made".to_owned(),
            note: None,
            action: "Making".to_owned(),
            secondary: None,
        };
        recorder.publish(&event, &sandbox.object_ref(&())).await.unwrap();
        recorder.publish(&event, &sandbox.object_ref(&())).await.unwrap();
        let about = ListParams::default().fields(&format!("involvedObject.uid={}", sandbox.uid().unwrap()));
        let listed = Api::<Happening>::default_namespaced(client.clone()).list(&about).await.unwrap();
        assert_eq!(listed.items[0].series.as_ref().and_then(|series| series.count), Some(2));
        sandboxes(&client).delete("box", &DeleteParams::default()).await.unwrap();
    }
}

/// What a manager wants of a Sandbox.
fn wish(spec: Value) -> Patch<Value> {
    Patch::Apply(
        json!({"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "metadata": {"name": "shared"}, "spec": spec}),
    )
}

#[tokio::test]
async fn fields_are_applied_and_contested() {
    let server = Server::start().await;
    for client in server.clients().await {
        let api = sandboxes(&client);
        let (one, two) = (PatchParams::apply("one"), PatchParams::apply("two"));
        let whole = wish(json!({"podTemplate": pod_template(), "operatingMode": "Suspended"}));
        api.patch("shared", &one, &whole).await.unwrap();
        let running = wish(json!({"operatingMode": "Running"}));
        let refused = api.patch("shared", &two, &running).await.unwrap_err();
        assert!(refused.to_string().contains("conflict with \"one\": .spec.operatingMode"), "{refused}");
        api.patch("shared", &two.force(), &running).await.unwrap();
        api.delete("shared", &DeleteParams::default()).await.unwrap();
    }
}

#[tokio::test]
async fn a_lease_goes_to_one_of_two_who_want_it() {
    let server = Server::start().await;
    for client in server.clients().await {
        let api = Api::<Lease>::default_namespaced(client);
        let lease: Lease = object("leader", json!({"holderIdentity": "nobody", "leaseDurationSeconds": 15}));
        let made = api.create(&PostParams::default(), &lease).await.unwrap();
        let taken = |holder: &str| {
            let mut lease = made.clone();
            lease.spec.get_or_insert_default().holder_identity = Some(holder.to_owned());
            lease
        };
        let (one, two) = (taken("one"), taken("two"));
        let options = PostParams::default();
        let results =
            tokio::join!(api.replace("leader", &options, &one), api.replace("leader", &options, &two));
        assert!(results.0.is_ok() != results.1.is_ok(), "{results:?}");
        api.delete("leader", &DeleteParams::default()).await.unwrap();
    }
}
