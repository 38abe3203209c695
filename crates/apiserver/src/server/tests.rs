//! Requests through the whole server, without a socket.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use http_body_util::BodyExt;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::api::tests::{bolt, definition};
use crate::security::authentication::User;
use crate::store::{Key, Scope};
use crate::streaming::{
    self, Amounts, Connection, Container, Log, LogOptions, NoPods, Pod, PodUsage, Process, Wanted,
};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const BOLTS: &str = "/apis/example.com/v1/namespaces/default/bolts";

struct Fixture {
    server: Server,
    _folder: TempDir,
}

impl Fixture {
    async fn new() -> Self {
        Self::with(NoPods).await
    }

    async fn with(pods: impl PodStreams) -> Self {
        let folder = TempDir::new().unwrap();
        let data_dir = folder.path().join("data");
        let config = Config { data_dir, listen: ([127, 0, 0, 1], 0).into(), admin_token: None };
        Self { server: Server::open(&config, pods).await.unwrap(), _folder: folder }
    }

    fn store(&self) -> &Store {
        self.server.shared.api.store()
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        body: Body,
    ) -> impl Future<Output = axum::http::Response<Body>> + use<> {
        let request = Request::builder().method(method).uri(path).body(body).unwrap();
        handler::handle(Arc::clone(&self.server.shared), Peer::program(), request)
    }

    async fn ask(&self, method: &str, path: &str, body: Value) -> u16 {
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        self.send(method, path, body).await.status().as_u16()
    }

    /// Asks until the answer is this one, each time after something has changed.
    async fn until(&self, path: &str, code: u16) {
        let mut watch = self.store().watch(Scope::everything(), self.store().revision()).unwrap();
        let waiting = async {
            while self.ask("GET", path, Value::Null).await != code {
                // The registry follows a definition without a write of its own.
                let _ = tokio::time::timeout(Duration::from_millis(20), watch.next()).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), waiting).await.unwrap();
    }
}

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

#[tokio::test]
async fn a_client_that_hangs_up_leaves_nothing_half_done() {
    let fixture = Fixture::new().await;
    for name in ["a", "b", "c"] {
        assert_eq!(fixture.ask("POST", MAPS, map(name)).await, 201);
    }
    let mut watch = fixture.store().watch(Scope::resource("configmaps"), fixture.store().revision()).unwrap();
    let mut deletion = Box::pin(fixture.send("DELETE", MAPS, Body::empty()));
    assert!(poll_fn(|context| Poll::Ready(deletion.as_mut().poll(context).is_pending())).await);
    drop(deletion);
    while fixture.store().get(&Key::new("configmaps", Some("default"), "c")).is_some() {
        watch.next().await.unwrap();
    }
}

#[tokio::test]
async fn a_watch_ends_with_the_edition_of_the_definition_that_it_was_opened_on() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.ask("POST", DEFINITIONS, definition()).await, 201);
    fixture.until(BOLTS, 200).await;
    let mut watch = fixture.send("GET", &format!("{BOLTS}?watch=true"), Body::empty()).await.into_body();
    assert_eq!(fixture.ask("POST", BOLTS, bolt("first")).await, 201);
    let first = watch.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(first.starts_with(br#"{"type":"ADDED""#));
    let patch = json!([{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/color", "value": {"type": "string"}}]);
    let request = Request::patch(format!("{DEFINITIONS}/bolts.example.com"))
        .header("content-type", "application/json-patch+json")
        .body(Body::from(patch.to_string()));
    let server = Arc::clone(&fixture.server.shared);
    let patched = handler::handle(server, Peer::program(), request.unwrap()).await;
    assert_eq!(patched.status(), 200);
    assert_eq!(fixture.ask("POST", BOLTS, bolt("second")).await, 201);
    assert!(watch.collect().await.unwrap().to_bytes().is_empty(), "what comes after is for another watch");
}

#[tokio::test]
async fn a_body_that_takes_its_time_is_judged_by_what_is_served_when_it_is_there() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.ask("POST", DEFINITIONS, definition()).await, 201);
    fixture.until(BOLTS, 200).await;
    let (sender, body) = tokio::sync::oneshot::channel::<String>();
    let slow = futures::stream::once(async move { body.await.map_err(|_| std::io::Error::other("no body")) });
    let mut request = Box::pin(fixture.send("POST", BOLTS, Body::from_stream(slow)));
    assert!(poll_fn(|context| Poll::Ready(request.as_mut().poll(context).is_pending())).await);
    assert_eq!(fixture.ask("DELETE", &format!("{DEFINITIONS}/bolts.example.com"), Value::Null).await, 200);
    fixture.until(&format!("{DEFINITIONS}/bolts.example.com"), 404).await;
    sender.send(bolt("late").to_string()).unwrap();
    assert_eq!(request.await.status(), 404);
    assert_eq!(fixture.store().list(&Scope::resource("bolts.example.com")).entries, []);
}

fn pod(name: &str) -> Value {
    let spec = json!({"containers": [{"name": "a", "image": "b"}]});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
}

#[tokio::test]
async fn an_eviction_is_for_the_pod_that_it_means() {
    let fixture = Fixture::new().await;
    let pods = "/api/v1/namespaces/default/pods";
    assert_eq!(fixture.ask("POST", pods, pod("a")).await, 201);
    let key = Key::new("pods", Some("default"), "a");
    let evict = async |preconditions: Value| {
        let options = json!({"preconditions": preconditions});
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}, "deleteOptions": options});
        fixture.ask("POST", &format!("{pods}/a/eviction"), eviction).await
    };
    let before = fixture.store().get(&key).unwrap();
    assert_eq!(evict(json!({"uid": "other"})).await, 409);
    assert_eq!(evict(json!({"resourceVersion": "1"})).await, 409);
    assert_eq!(fixture.store().get(&key), Some(before.clone()), "another Pod is left alone");
    assert_eq!(evict(json!({"resourceVersion": before.revision.to_string()})).await, 201);
    assert_eq!(fixture.store().get(&key), None);
}

#[tokio::test]
async fn it_is_ready_when_its_controllers_have_begun() {
    let fixture = Fixture::new().await;
    fixture.until("/readyz", 200).await;
    let answer = fixture.send("GET", "/readyz?verbose", Body::empty()).await.into_body();
    let text = answer.collect().await.unwrap().to_bytes();
    assert_eq!(text, "[+]ping ok\n[+]store ok\n[+]controllers ok\nreadyz check passed\n");
    fixture.server.shared.controllers.stop().await;
    assert_eq!(fixture.ask("GET", "/readyz", Value::Null).await, 500);
    assert_eq!(fixture.ask("GET", "/readyz/controllers", Value::Null).await, 500);
    assert_eq!(fixture.ask("GET", "/livez", Value::Null).await, 200);
}

/// Whoever runs a Pod `box` that works half of the time.
struct Metered;

impl PodStreams for Metered {
    const METERED: bool = true;

    async fn usage(&self, _: Option<&str>) -> Result<Vec<PodUsage>, streaming::Error> {
        let pod = Pod { namespace: "default".to_owned(), name: "box".to_owned() };
        let used = Amounts { cpu_nano: 500_000_000, memory_bytes: 3 << 20 };
        Ok(vec![PodUsage {
            pod,
            window: Duration::from_secs(1),
            containers: vec![("main".to_owned(), used)],
        }])
    }

    async fn exec(&self, _: &Container, _: &[String], _: Wanted) -> Result<Process, streaming::Error> {
        unreachable!("nobody asks")
    }

    async fn attach(&self, _: &Container, _: Wanted) -> Result<Process, streaming::Error> {
        unreachable!("nobody asks")
    }

    async fn port_forward(&self, _: &Pod, _: u16, _: &User) -> Result<Box<dyn Connection>, streaming::Error> {
        unreachable!("nobody asks")
    }

    async fn logs(&self, _: &Container, _: &LogOptions) -> Result<Log, streaming::Error> {
        unreachable!("nobody asks")
    }
}

const MEASURED: &str = "/apis/metrics.k8s.io/v1beta1";

#[tokio::test]
async fn what_is_measured_of_pods_is_listed_like_the_pods() {
    let fixture = Fixture::with(Metered).await;
    for name in ["box", "other"] {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"containers": [{"name": "main", "image": "i"}]}});
        assert_eq!(fixture.ask("POST", "/api/v1/namespaces/default/pods", pod).await, 201);
    }
    let listed = |query: &str| {
        let path = format!("{MEASURED}/namespaces/default/pods{query}");
        let answer = fixture.send("GET", &path, Body::empty());
        Box::pin(async { json_of(answer.await).await })
    };
    let list = listed("").await;
    assert_eq!(list["kind"], "PodMetricsList");
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(list["items"][0]["metadata"]["labels"], json!({"app": "box"}));
    let usage = json!([{"name": "main", "usage": {"cpu": "500000000n", "memory": "3072Ki"}}]);
    assert_eq!((&list["items"][0]["containers"], &list["items"][0]["window"]), (&usage, &json!("1.000s")));
    assert_eq!(listed("?labelSelector=app%3Dother").await["items"], json!([]));
    assert_eq!(listed("/box").await["kind"], "PodMetrics");
    assert_eq!(listed("/other").await["code"], 404);
    assert_eq!(
        fixture.ask("DELETE", &format!("{MEASURED}/namespaces/default/pods/box"), Value::Null).await,
        405
    );
}

#[tokio::test]
async fn a_server_that_measures_nothing_does_not_have_the_group() {
    let (with, without) = (Fixture::with(Metered).await, Fixture::new().await);
    for path in ["/apis/metrics.k8s.io", MEASURED, &format!("{MEASURED}/nodes")] {
        assert_eq!(with.ask("GET", path, Value::Null).await, 200, "{path}");
        assert_eq!(without.ask("GET", path, Value::Null).await, 404, "{path}");
    }
    let has = |groups: Value| groups.to_string().contains("metrics.k8s.io");
    assert!(has(json_of(with.send("GET", "/apis", Body::empty()).await).await));
    assert!(!has(json_of(without.send("GET", "/apis", Body::empty()).await).await));
}

async fn json_of(response: axum::http::Response<Body>) -> Value {
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}
