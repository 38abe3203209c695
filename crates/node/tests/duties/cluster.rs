//! A cluster of one node in which no container runs: the API server, and those duties that a test asks for.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use asb_apiserver::server::{Config, Server};
use asb_apiserver::streaming::NoPods;
use asb_node::cache::Cache;
use asb_node::events::Events;
use asb_node::presence::Presence;
use asb_node::scheduling::{Scheduling, Sources};
use asb_node::settings::Settings;
use asb_node::shim::client::Program;
use k8s_openapi::api::core::v1::{Event, Pod, ServiceAccount};
use kube::api::PostParams;
use kube::runtime::wait::await_condition;
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const NODE: &str = "here";
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) settings: Settings,
    pub(crate) folder: TempDir,
    _server: Server,
}

impl Cluster {
    pub(crate) async fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let listen = "127.0.0.1:0".parse()?;
        let config = Config { data_dir: folder.path().join("server"), listen, admin_token: None };
        let server = Server::open(&config, NoPods).await?;
        let settings = Settings {
            root: folder.path().join("node"),
            name: NODE.to_owned(),
            allow: asb_core::pod::support::Allowances::default(),
            images: asb_node::images::Settings::default(),
            pods: None,
            api: server.address(),
            shim: Program::default(),
            runtimes: std::collections::BTreeMap::new(),
            carried: None,
            token_age: asb_node::settings::TOKEN_AGE,
        };
        let this = Self { client: server.client(), settings, folder, _server: server };
        // Without it no Pod is admitted.
        this.until::<ServiceAccount>("default", |_| true).await?;
        Ok(this)
    }

    pub(crate) async fn presence(&self) -> Result<Presence> {
        Ok(Presence::start(self.client.clone(), &self.settings, vec!["10.0.0.1".to_owned()]).await?)
    }

    pub(crate) fn events(&self) -> Events {
        Events::start(self.client.clone(), "kubelet", NODE)
    }

    pub(crate) async fn scheduled(&self) -> Result<(Presence, Scheduling)> {
        let presence = self.presence().await?;
        let sources = Sources {
            pods: Cache::all_of(&self.client),
            nodes: presence.nodes(),
            namespaces: Cache::all_of(&self.client),
            claims: Cache::all_of(&self.client),
            classes: Cache::all_of(&self.client),
        };
        Ok((presence, Scheduling::start(self.client.clone(), NODE, sources, &self.events())))
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::default_namespaced(self.client.clone())
    }

    pub(crate) async fn make<K>(&self, object: Value) -> Result<K>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
        K: Clone + Debug + DeserializeOwned + Serialize,
    {
        Ok(self.api().create(&PostParams::default(), &serde_json::from_value(object)?).await?)
    }

    pub(crate) async fn pod(&self, name: &str, spec: Value) -> Result<Pod> {
        let mut whole = json!({"containers": [{"name": "c", "image": "i"}]});
        for (field, value) in spec.as_object().context("a spec")? {
            whole[field] = value.clone();
        }
        self.make(json!({"metadata": {"name": name}, "spec": whole})).await
    }

    /// The object, once it is as it should be.
    pub(crate) async fn until<K>(&self, name: &str, is_so: impl Fn(&K) -> bool) -> Result<K>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
        K: Clone + Debug + DeserializeOwned + Send + 'static,
    {
        become_so(self.api(), name, is_so).await
    }

    pub(crate) async fn bound(&self, name: &str) -> Result<Pod> {
        self.until(name, |pod: &Pod| {
            pod.spec.as_ref().is_some_and(|spec| spec.node_name.as_deref() == Some(NODE))
        })
        .await
    }

    /// Reason and message of the condition PodScheduled, once it is False.
    pub(crate) async fn refusal(&self, name: &str) -> Result<String> {
        let told = |pod: &Pod| {
            let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
            let found = conditions.find(|known| known.type_ == "PodScheduled" && known.status == "False")?;
            Some(format!("{}: {}", found.reason.as_deref()?, found.message.as_deref()?))
        };
        let pod = self.until(name, |pod| told(pod).is_some()).await?;
        told(&pod).context("it was told")
    }

    /// All events about an object, once there is one of the reason.
    pub(crate) async fn told(&self, name: &str, reason: &str) -> Result<Vec<Arc<Event>>> {
        let about = watcher::Config::default().fields(&format!("involvedObject.name={name}"));
        let events = Cache::follow(self.api::<Event>(), about);
        let mut changes = events.changes();
        let look = async {
            while !events.all().iter().any(|event| event.reason.as_deref() == Some(reason)) {
                changes.changed().await?;
            }
            Ok::<_, anyhow::Error>(events.all())
        };
        tokio::time::timeout(PATIENCE, look).await.with_context(|| format!("no event {reason}"))?
    }
}

pub(crate) async fn become_so<K>(api: Api<K>, name: &str, is_so: impl Fn(&K) -> bool) -> Result<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let condition = |object: Option<&K>| object.is_some_and(&is_so);
    let found = tokio::time::timeout(PATIENCE, Box::pin(await_condition(api.clone(), name, condition))).await;
    let kind = K::kind(&());
    match found {
        Ok(found) => found?.with_context(|| format!("{kind} {name} is gone")),
        Err(_) => {
            anyhow::bail!("{kind} {name} did not come to be as it should: {:?}", api.get_opt(name).await)
        }
    }
}

/// Returns once there is none of the name, or one that is another.
pub(crate) async fn gone<K>(api: Api<K>, object: &K) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let uid = object.uid().unwrap_or_default();
    let deleted = kube::runtime::conditions::is_deleted(&uid);
    let name = object.name_any();
    tokio::time::timeout(PATIENCE, Box::pin(await_condition(api, &name, deleted)))
        .await
        .context("it stays")??;
    Ok(())
}
