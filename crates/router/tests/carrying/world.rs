//! An API server, a router, and Sandboxes that are servers of this process.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use asb_core::route::{Entry, Loopback};
use asb_router::token::{Keys, PrivateKey, Scope, Secret};
use asb_router::{Authority, Caller, Handle, Router, Settings, Tunnel};
use asb_types::v1beta1::Sandbox;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::control::Control;

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct World {
    pub(crate) address: SocketAddr,
    /// Where what is forwarded to the Pod `default/router` comes in.
    pub(crate) tunnel: SocketAddr,
    pub(crate) handle: Handle,
    pub(crate) stop: CancellationToken,
    pub(crate) running: JoinHandle<()>,
    pub(crate) client: Client,
    pub(crate) control: Control,
}

pub(crate) fn secret() -> Secret {
    Secret::read(&[7; 32]).expect("long enough")
}

/// The key whose tokens the router takes, and that it shows to runtimes.
pub(crate) fn key() -> PrivateKey {
    PrivateKey::read("MC4CAQAwBQYDK2VwBCIEIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH").expect("a key")
}

/// What such a token says: this Sandbox of the namespace `default`, for a minute.
pub(crate) fn scope(name: &str) -> Scope {
    let exp = Timestamp::now().as_second() + 60;
    Scope { namespace: "default".to_owned(), name: name.to_owned(), exp, uid: None, port: None }
}

pub(crate) fn token(name: &str) -> String {
    scope(name).signed_with_secret(&secret())
}

/// A router for the Sandboxes that `client` tells of.
pub(crate) fn router(client: &Client, reviews: &Client, settings: Settings) -> Router {
    let settings = Settings { loopback: Loopback::Allowed, redials: 1, ..settings };
    let authority = Authority::default()
        .with_keys(Keys { secrets: vec![secret()], public: vec![key().public()] })
        .with_reviews(reviews.clone(), Vec::new());
    Router::new(client.clone(), settings, authority, Some(key()))
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with(Settings::default()).await
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        let control = Control::start().await;
        let client = control.client();
        Self::reviewed_by(control, &client, settings).await
    }

    /// One in which somebody else says who may.
    pub(crate) async fn reviewed_by(control: Control, reviews: &Client, settings: Settings) -> Self {
        let client = control.client();
        let mut router = router(&client, reviews, settings);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        router.listen(listener, Caller::Stranger, None).expect("no certificate");
        let forwarded = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let tunnel = forwarded.local_addr().expect("an address");
        router.listen_for_tunnels(forwarded, Tunnel::new(client.clone(), "default", "router"));
        let (handle, stop) = (router.handle(), CancellationToken::new());
        let running = tokio::spawn(router.run(stop.clone()));
        tokio::time::timeout(PATIENCE, handle.wait_until_ready()).await.expect("it knows all Sandboxes");
        Self { address, tunnel, handle, stop, running, client, control }
    }

    /// A Sandbox that is at these addresses, as far as its status says; the router knows it.
    pub(crate) async fn sandbox(&self, name: &str, addresses: &[&str]) -> Sandbox {
        self.sandbox_in("default", name, addresses).await
    }

    pub(crate) async fn sandbox_in(&self, namespace: &str, name: &str, addresses: &[&str]) -> Sandbox {
        let api: Api<Sandbox> = Api::namespaced(self.client.clone(), namespace);
        let made: Sandbox = serde_json::from_value(json!({
            "apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "metadata": {"name": name},
            "spec": {"podTemplate": {"spec": {"containers": [{"name": "main", "image": "i"}]}}},
        }))
        .expect("a Sandbox");
        api.create(&PostParams::default(), &made).await.expect("it is made");
        let status = json!({"status": {"podIPs": addresses}});
        let sandbox = api
            .patch_status(name, &PatchParams::default(), &Patch::Merge(&status))
            .await
            .expect("it has a status");
        let uid = sandbox.metadata.uid.clone().expect("it has one");
        let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().expect("an address")).collect();
        self.until(namespace, name, |entry| {
            entry.is_some_and(|entry| entry.uid.as_str() == uid && entry.addresses == addresses)
        })
        .await;
        sandbox
    }

    /// Deletes a Sandbox; the router knows that it is gone.
    pub(crate) async fn delete(&self, namespace: &str, name: &str) {
        let api: Api<Sandbox> = Api::namespaced(self.client.clone(), namespace);
        api.delete(name, &DeleteParams::default()).await.expect("it is deleted");
        self.until(namespace, name, |entry| entry.is_none()).await;
    }

    pub(crate) async fn namespace(&self, name: &str) {
        let api: Api<Namespace> = Api::all(self.client.clone());
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let object = serde_json::from_value(object).expect("a Namespace");
        api.create(&PostParams::default(), &object).await.expect("it is made");
    }

    /// Until the router has heard this of a Sandbox.
    pub(crate) async fn until(&self, namespace: &str, name: &str, is_so: impl Fn(Option<Entry>) -> bool) {
        let heard = async {
            while !is_so(self.handle.sandbox(namespace, name)) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, heard).await.expect("the router hears of it");
    }

    /// Until a line is among the metrics.
    pub(crate) async fn measures(&self, line: &str) {
        let shown = async {
            while !self.handle.metrics().text().lines().any(|shown| shown == line) {
                tokio::task::yield_now().await;
            }
        };
        let shown = tokio::time::timeout(PATIENCE, shown).await;
        assert!(shown.is_ok(), "{line} is not in\n{}", self.handle.metrics().text());
    }

    /// The Pod that the router is.
    pub(crate) async fn router_pod(&self, containers: Value) {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), "default");
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "router"}, "spec": {"containers": containers}});
        let pod = serde_json::from_value(pod).expect("a Pod");
        api.create(&PostParams::default(), &pod).await.expect("it is made");
    }

    pub(crate) fn to(&self, name: &str, port: u16, path: &str) -> http::request::Builder {
        Request::builder()
            .uri(format!("http://{}{path}", self.address))
            .header("X-Sandbox-ID", name)
            .header("X-Sandbox-Port", port)
            .header("Authorization", format!("Bearer {}", token(name)))
    }
}

pub(crate) fn http() -> HttpClient<HttpConnector, Full<Bytes>> {
    HttpClient::builder(TokioExecutor::new()).build_http()
}

/// Status and body.
pub(crate) async fn ask(request: http::request::Builder, body: &'static str) -> (StatusCode, Vec<u8>) {
    let request = request.body(Full::from(body)).expect("a request");
    let answer = tokio::time::timeout(PATIENCE, http().request(request)).await.expect("in time");
    read(answer.expect("an answer")).await
}

pub(crate) async fn read(answer: Response<hyper::body::Incoming>) -> (StatusCode, Vec<u8>) {
    let status = answer.status();
    let body = answer.into_body().collect().await.expect("a body").to_bytes();
    (status, body.to_vec())
}

/// What a refusal says.
pub(crate) async fn refusal(request: http::request::Builder) -> (u16, String) {
    let (status, body) = ask(request, "").await;
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    (status.as_u16(), body["detail"].as_str().expect("a detail").to_owned())
}
