//! The work itself, step by step: what each action of a plan does on this machine.

pub(super) mod container;
mod grpc;
pub(super) mod hooks;
mod http;
pub(super) mod image;
pub(super) mod probes;
mod questions;
pub(super) mod sandbox;
mod signals;
pub(super) mod stop;
pub(super) mod storage;
pub(super) mod volumes;

use std::net::Ipv4Addr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use k8s_openapi::api::node::v1::RuntimeClass;
use kube::Api;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use super::keeper::Keeper;
use super::tools::Tools;
use crate::error::full;
use crate::runtimes;
use crate::shim::cleanup;
use crate::shim::directory::Directory;
use crate::shim::plan::{IdRange, Runtime};
use crate::shim::protocol::Attempt;
use crate::volumes::removal;
use crate::volumes::token::Tokens;

/// One Pod, as it was when the work began.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) tools: Arc<Tools>,
    pub(super) pod: Arc<Pod>,
    pub(super) uid: String,
    pub(super) ids: Option<IdRange>,
    pub(super) address: Option<Ipv4Addr>,
    pub(super) tokens: Arc<Mutex<Tokens>>,
}

impl Work {
    pub(super) fn of(keeper: &Keeper) -> Self {
        Self {
            tools: Arc::clone(&keeper.tools),
            pod: Arc::clone(&keeper.pod),
            uid: keeper.uid.clone(),
            ids: keeper.journal.ids,
            address: keeper.journal.address,
            tokens: Arc::clone(&keeper.tokens),
        }
    }

    pub(super) fn namespace(&self) -> &str {
        self.pod.metadata.namespace.as_deref().unwrap_or_default()
    }

    pub(super) fn directory(&self) -> Directory {
        self.tools.directory(&self.uid)
    }

    fn is_on_host(&self) -> bool {
        self.pod.spec.as_ref().is_some_and(|spec| spec.host_network == Some(true))
    }

    /// The Pod's, the primary one first.
    pub(super) fn addresses(&self, spec: &PodSpec) -> Vec<String> {
        if spec.host_network == Some(true) {
            return self.tools.node.addresses.clone();
        }
        self.address.iter().map(ToString::to_string).collect()
    }

    fn container(&self, name: &str) -> Result<&Container, String> {
        let spec = self.pod.spec.as_ref();
        let mut all =
            spec.into_iter().flat_map(|spec| spec.init_containers.iter().flatten().chain(&spec.containers));
        all.find(|container| container.name == name).ok_or_else(|| format!("container {name} not found"))
    }

    /// Who runs the Pod's containers.
    pub(super) async fn runtime(&self) -> Result<Runtime, String> {
        let class = self.pod.spec.as_ref().and_then(|spec| spec.runtime_class_name.as_deref());
        let Some(class) = class.filter(|class| !class.is_empty()) else { return Ok(Runtime::Builtin) };
        let api: Api<RuntimeClass> = Api::all(self.tools.client.clone());
        let found = api.get_opt(class).await.map_err(|error| error.to_string())?;
        let found = found.ok_or_else(|| format!("RuntimeClass {class:?} not found"))?;
        let runtime = self.tools.runtimes.get(&found.handler).cloned();
        runtime.ok_or_else(|| runtimes::missing(&found.handler))
    }
}

/// Removes the directory and the logs of a Pod that is gone, and lets go of its images.
pub(super) async fn forget(work: &Work) -> Result<(), String> {
    let (directory, images) = (work.directory(), work.tools.images.store().clone());
    blocking(move || cleanup::remove(&directory)).await?;
    let logs = work.tools.node.logs_of(&work.pod);
    blocking(move || removal::remove(&logs)).await?;
    let spec = work.pod.spec.iter();
    let containers = spec.flat_map(|spec| spec.init_containers.iter().flatten().chain(&spec.containers));
    let owners: Vec<_> = containers.map(|it| container::owner(&work.uid, &it.name)).collect();
    blocking(move || owners.iter().try_for_each(|owner| images.unpin(owner))).await
}

fn attempt(container: &str, number: u32) -> Attempt {
    Attempt { container: container.to_owned(), number }
}

/// Something that blocks, on a thread for it.
async fn blocking<T: Send + 'static, E: std::error::Error + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, String> {
    let told = move || work().map_err(|error| full(&error));
    spawn_blocking(told).await.map_err(|error| error.to_string())?
}
