//! The smallest API server that clients of streams accept: discovery of Pods, one Pod, and its streams.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use asb_apiserver::streaming::{Pod, Streaming};
use axum::extract::{Path, Request, State};
use axum::response::Response;
use axum::routing::{any, get};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::node::LocalNode;

pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) more_log: Arc<Notify>,
    processes: TaskTracker,
    shared: Arc<Shared>,
    task: AbortHandle,
}

struct Shared {
    streaming: Streaming<LocalNode>,
    /// How each stream was asked for.
    asked: Mutex<Vec<String>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        let more_log = Arc::new(Notify::new());
        let processes = TaskTracker::new();
        let node = LocalNode { more_log: Arc::clone(&more_log), processes: processes.clone() };
        let streaming = Streaming::new(node);
        let shared = Arc::new(Shared { streaming, asked: Mutex::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = format!("http://{}", listener.local_addr().expect("it is bound"));
        let router = router(Arc::clone(&shared));
        let task =
            tokio::spawn(async move { axum::serve(listener, router).await.expect("serving never ends") })
                .abort_handle();
        Self { address, more_log, processes, shared, task }
    }

    /// How streams were asked for since the last time.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.asked.lock().expect("no test panics while it holds this"))
    }

    /// Waits until nobody holds a process any more.
    pub(crate) async fn idle(&self) {
        self.processes.close();
        timeout(Duration::from_mins(1), self.processes.wait()).await.expect("clients leave in time");
    }

    pub(crate) async fn stop(self) {
        self.shared.streaming.stop().await;
    }
}

fn router(shared: Arc<Shared>) -> Router {
    let pods = "/api/v1/namespaces/{namespace}/pods/{name}";
    Router::new()
        .route("/api", get(|| async { Json(json!({"kind": "APIVersions", "versions": ["v1"]})) }))
        .route(
            "/apis",
            get(|| async { Json(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": []})) }),
        )
        .route("/api/v1", get(|| async { Json(resources()) }))
        .route(pods, get(|| async { Json(pod()) }))
        .route(&format!("{pods}/{{verb}}"), any(streams))
        .with_state(shared)
}

async fn streams(
    State(shared): State<Arc<Shared>>,
    Path((namespace, name, verb)): Path<(String, String, String)>,
    request: Request,
) -> Response {
    let pod = Pod { namespace, name };
    shared
        .asked
        .lock()
        .expect("no test panics while it holds this")
        .push(format!("{verb} {}", transport(&request)));
    match verb.as_str() {
        "exec" => shared.streaming.exec(pod, request).await,
        "attach" => shared.streaming.attach(pod, request).await,
        "portforward" => shared.streaming.port_forward(pod, request).await,
        _ => shared.streaming.logs(pod, request.uri()).await,
    }
}

fn transport(request: &Request) -> String {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    match header("upgrade").unwrap_or("none") {
        "websocket" => header("sec-websocket-protocol").unwrap_or("websocket").to_owned(),
        other => other.to_owned(),
    }
}

fn resources() -> Value {
    let pods = json!({
        "name": "pods",
        "singularName": "pod",
        "shortNames": ["po"],
        "namespaced": true,
        "kind": "Pod",
        "verbs": ["get", "list"],
    });
    json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": [pods]})
}

fn pod() -> Value {
    json!({
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "demo", "namespace": "default", "uid": "1"},
        "spec": {"containers": [{"name": "main", "image": "local", "stdin": true}]},
        "status": {"phase": "Running"},
    })
}
