//! The whole API server in this process, over TLS, with one running Pod whose processes are processes of this machine.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use asb_apiserver::server::{self, Config};
use asb_tests::objects::object;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::node::LocalNode;

const DEADLINE: Duration = Duration::from_mins(1);

pub(crate) struct Server {
    pub(crate) more_log: Arc<Notify>,
    processes: TaskTracker,
    client: kube::Client,
    stop: CancellationToken,
    task: JoinHandle<()>,
    directory: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Server {
    /// A server that knows the Pod `demo`.
    pub(crate) async fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory for the server");
        let (more_log, processes) = (Arc::new(Notify::new()), TaskTracker::new());
        let node = LocalNode { more_log: Arc::clone(&more_log), processes: processes.clone() };
        let config = Config {
            data_dir: directory.path().join("data"),
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            admin_token: None,
        };
        let server = server::Server::open(&config, node).await.expect("the server opens");
        let (client, stop) = (server.client(), CancellationToken::new());
        let task = tokio::spawn(server.run(stop.clone()));
        let this = Self { more_log, processes, client, stop, task, directory };
        this.run_the_pod().await;
        this
    }

    async fn run_the_pod(&self) {
        let pods = Api::<Pod>::default_namespaced(self.client.clone());
        pods.create(&PostParams::default(), &pod()).await.expect("the Pod is taken");
        let running = Patch::Merge(json!({"status": {"phase": "Running"}}));
        pods.patch_status("demo", &PatchParams::default(), &running).await.expect("the Pod runs");
    }

    /// A Service in front of the Pod whose port 80 is `port` there.
    pub(crate) async fn serve(&self, port: u16) {
        let services = Api::<Service>::default_namespaced(self.client.clone());
        services.create(&PostParams::default(), &service(port)).await.expect("the Service is taken");
    }

    /// Where the server says how its administrator reaches it.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.directory.path().join("data/kubeconfig")
    }

    /// A client that goes through the socket.
    pub(crate) async fn client(&self) -> kube::Client {
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig()).expect("the server wrote it");
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        kube::Client::try_from(config.expect("it is whole")).expect("a client")
    }

    /// Waits until nobody holds a process any more.
    pub(crate) async fn idle(&self) {
        self.processes.close();
        timeout(DEADLINE, self.processes.wait()).await.expect("clients leave in time");
    }

    /// Stops the server and waits for its end.
    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        timeout(DEADLINE, &mut self.task).await.expect("it ends in time").expect("it ends well");
    }
}

fn pod() -> Pod {
    let mut pod: Pod =
        object("demo", json!({"containers": [{"name": "main", "image": "local", "stdin": true}]}));
    pod.metadata.labels = Some([("app".to_owned(), "demo".to_owned())].into());
    pod
}

fn service(port: u16) -> Service {
    object("demo", json!({"selector": {"app": "demo"}, "ports": [{"port": 80, "targetPort": port}]}))
}
