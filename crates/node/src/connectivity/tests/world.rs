//! A host with an API server in it. The objects are real; of a Pod there is only its network namespace.

use std::fmt::Debug;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use asb_apiserver::server::{Config, Server};
use asb_apiserver::streaming::NoPods;
use asb_core::object::Uid;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams, Resource};
use kube::runtime::wait::await_condition;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::cache::Cache;
use crate::connectivity::{Connectivity, Error};
use crate::identity::Identity;
use crate::network::tests::rig::Namespace;
use crate::settings::Settings;

const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct World {
    pub(super) client: kube::Client,
    pub(super) connectivity: Connectivity,
    identity: Identity,
    settings: Settings,
    _serving: DropGuard,
    _folder: tempfile::TempDir,
}

/// A Pod that is admitted.
pub(super) struct Admitted {
    pub(super) pod: Pod,
    pub(super) uid: Uid,
    pub(super) address: Ipv4Addr,
    pub(super) namespace: Namespace,
}

impl Admitted {
    pub(super) fn known(&self) -> (Pod, Ipv4Addr) {
        (self.pod.clone(), self.address)
    }
}

/// Runs a test on a host of its own. Tests may block: others than theirs do the work.
pub(super) fn on_a_host<F: Future<Output = ()>>(test: impl FnOnce(World) -> F + Send) {
    let host = Namespace::of_host();
    host.ip("link set lo up");
    host.run(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.unwrap();
        runtime.block_on(async { test(World::new().await).await });
        runtime.shutdown_timeout(Duration::from_secs(1));
    });
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let config = Config { data_dir: folder.path().join("api"), listen, admin_token: None };
        let server = Server::open(&config, NoPods).await.unwrap();
        let (client, api, stop) = (server.client(), server.address(), CancellationToken::new());
        tokio::spawn(server.run(stop.clone()));
        let accounts = Api::<ServiceAccount>::namespaced(client.clone(), "default");
        let there = await_condition(accounts, "default", |found: Option<&ServiceAccount>| found.is_some());
        timeout(PATIENCE, there).await.unwrap().unwrap();
        let settings = settings(folder.path(), api);
        let mut identity = Identity::of(&settings.root).unwrap();
        let connectivity = start(&client, &settings, &mut identity, Vec::new()).await;
        Self { client, connectivity, identity, settings, _serving: stop.drop_guard(), _folder: folder }
    }

    /// Another daemon after the first, which left everything as it was.
    pub(super) async fn restarted(mut self, known: Vec<(Pod, Ipv4Addr)>) -> Self {
        self.connectivity.end().await;
        self.connectivity = start(&self.client, &self.settings, &mut self.identity, known).await;
        self
    }

    /// From the next start on, the API server is seen through this.
    pub(super) fn with_client(mut self, change: impl FnOnce(kube::Client) -> kube::Client) -> Self {
        self.client = change(self.client);
        self
    }

    pub(super) async fn create<K>(&self, object: Value) -> K
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Serialize,
    {
        let api = Api::<K>::namespaced(self.client.clone(), "default");
        let object: K = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap()
    }

    /// With a label that is its name.
    pub(super) async fn pod(&self, name: &str) -> Pod {
        self.pod_with(name, false).await
    }

    pub(super) async fn pod_with(&self, name: &str, token: bool) -> Pod {
        let container =
            json!({"name": "main", "image": "none", "ports": [{"name": "web", "containerPort": 8080}]});
        let metadata = json!({"name": name, "labels": {"app": name}});
        self.create(json!({"metadata": metadata, "spec": {"automountServiceAccountToken": token, "containers": [container]}})).await
    }

    pub(super) async fn policy(&self, name: &str, spec: Value) {
        self.create::<k8s_openapi::api::networking::v1::NetworkPolicy>(
            json!({"metadata": {"name": name}, "spec": spec}),
        )
        .await;
    }

    pub(super) async fn admitted(&self, name: &str) -> Admitted {
        let pod = self.pod(name).await;
        self.admit(pod).await.unwrap()
    }

    pub(super) async fn admit(&self, pod: Pod) -> Result<Admitted, Error> {
        let uid: Uid = pod.metadata.uid.as_deref().unwrap().into();
        let (namespace, address) = (Namespace::of_pod(), self.connectivity.reserve(&uid, None)?);
        let descriptor: OwnedFd = namespace.descriptor.try_clone().unwrap();
        self.connectivity.admit(&pod, address, descriptor).await?;
        Ok(Admitted { pod, uid, address, namespace })
    }

    /// As whoever runs the Pod would say.
    pub(super) async fn report(&self, pod: &Admitted, ready: bool) {
        let api = Api::<Pod>::namespaced(self.client.clone(), "default");
        let condition = json!({"type": "Ready", "status": if ready { "True" } else { "False" }});
        let status = json!({"phase": "Running", "podIP": pod.address, "podIPs": [{"ip": pod.address}],
                            "conditions": [condition]});
        let name = pod.pod.metadata.name.as_deref().unwrap();
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// How many elements of a set are a Pod's.
    pub(super) async fn elements(&self, set: &str, uid: &Uid) -> usize {
        let census = self.connectivity.census().await.unwrap();
        let own = census.elements.iter().filter(|element| element.remark == *uid.as_str());
        own.filter(|element| element.set == set).count()
    }
}

/// Holds at last.
pub(super) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let mut looks = tokio::time::interval(Duration::from_millis(5));
    let waiting = async {
        while !holds() {
            looks.tick().await;
        }
    };
    assert!(timeout(PATIENCE, waiting).await.is_ok(), "{what}: not yet");
}

async fn start(
    client: &kube::Client,
    settings: &Settings,
    identity: &mut Identity,
    known: Vec<(Pod, Ipv4Addr)>,
) -> Connectivity {
    let pods = Cache::all_of(client);
    Connectivity::start(client.clone(), settings, identity, pods, known).await.unwrap()
}

fn settings(folder: &std::path::Path, api: SocketAddr) -> Settings {
    Settings {
        root: folder.join("node"),
        name: "here".to_owned(),
        allow: asb_core::pod::support::Allowances::default(),
        images: crate::images::Settings::default(),
        pods: None,
        api,
        shim: crate::shim::client::Program::default(),
        runtimes: std::collections::BTreeMap::new(),
        carried: None,
        token_age: crate::settings::TOKEN_AGE,
    }
}
