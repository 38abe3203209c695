//! An API server, a router, and Sandboxes that are servers of this process.

use std::net::SocketAddr;
use std::time::Duration;

use asb_apiserver::server::{Config, Server};
use asb_apiserver::streaming::NoPods;
use asb_core::route::Loopback;
use asb_router::token::{Keys, Scope, Secret};
use asb_router::{Authority, Caller, Handle, Router, Settings, Tunnel};
use asb_types::v1beta1::Sandbox;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct World {
    pub(crate) address: SocketAddr,
    /// Where what is forwarded to the Pod `default/router` comes in.
    pub(crate) tunnel: SocketAddr,
    pub(crate) handle: Handle,
    pub(crate) stop: CancellationToken,
    pub(crate) running: JoinHandle<()>,
    client: Client,
    _server: Server,
    _folder: TempDir,
}

pub(crate) fn secret() -> Secret {
    Secret::read(&[7; 32]).expect("long enough")
}

/// A token for this Sandbox of the namespace `default`.
pub(crate) fn token(name: &str) -> String {
    let exp = Timestamp::now().as_second() + 60;
    Scope { namespace: "default".to_owned(), name: name.to_owned(), exp, uid: None, port: None }
        .signed_with_secret(&secret())
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with(Settings::default()).await
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listen = ([127, 0, 0, 1], 0).into();
        let config = Config { data_dir: folder.path().into(), listen, admin_token: None };
        let server = Server::open(&config, NoPods).await.expect("a server");
        let client = server.client();
        let settings = Settings { loopback: Loopback::Allowed, redials: 1, ..settings };
        let authority = Authority::default()
            .with_keys(Keys { secrets: vec![secret()], ..Keys::default() })
            .with_reviews(client.clone(), Vec::new());
        let mut router = Router::new(client.clone(), settings, authority, None);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        router.listen(listener, Caller::Stranger, None).expect("no certificate");
        let forwarded = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let tunnel = forwarded.local_addr().expect("an address");
        router.listen_for_tunnels(forwarded, Tunnel::new(client.clone(), "default", "router"));
        let (handle, stop) = (router.handle(), CancellationToken::new());
        let running = tokio::spawn(router.run(stop.clone()));
        tokio::time::timeout(PATIENCE, handle.wait_until_ready()).await.expect("it knows all Sandboxes");
        Self { address, tunnel, handle, stop, running, client, _server: server, _folder: folder }
    }

    /// A Sandbox that is at these addresses, as far as its status says; the router knows it.
    pub(crate) async fn sandbox(&self, name: &str, addresses: &[&str]) -> Sandbox {
        let api: Api<Sandbox> = Api::namespaced(self.client.clone(), "default");
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
        self.until_known(name).await;
        sandbox
    }

    /// The Pod that the router is.
    pub(crate) async fn router_pod(&self, containers: Value) {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), "default");
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "router"}, "spec": {"containers": containers}});
        let pod = serde_json::from_value(pod).expect("a Pod");
        api.create(&PostParams::default(), &pod).await.expect("it is made");
    }

    /// What the router answers to whoever may is no longer that it knows nothing of it.
    async fn until_known(&self, name: &str) {
        let api: Api<Sandbox> = Api::namespaced(self.client.clone(), "default");
        let is_there = |object: Option<&Sandbox>| object.is_some_and(|sandbox| sandbox.status.is_some());
        tokio::time::timeout(PATIENCE, await_condition(api, name, is_there))
            .await
            .expect("in time")
            .expect("it is followed");
        let known = async {
            while !self.handle.knows("default", name) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, known).await.expect("the router hears of it");
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
