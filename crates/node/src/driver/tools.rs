//! What keepers work with, the same for all of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use asb_core::pod::lifecycle::Halt;
use asb_core::pod::support::Allowances;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use kube::Client;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::ids::Ids;
use crate::blueprint;
use crate::cache::Cache;
use crate::claims::Claims;
use crate::connectivity::Connectivity;
use crate::events::Events;
use crate::images::Images;
use crate::shim::client::Program;
use crate::shim::directory::Directory;
use crate::shim::plan::Runtime;
use crate::trash::Trash;
use crate::volumes::Layout;

pub struct Tools {
    pub client: Client,
    pub root: PathBuf,
    pub node: blueprint::Node,
    pub allow: Allowances,
    pub shim: Program,
    /// How old a token gets before it is replaced.
    pub token_age: Duration,
    /// By the handler's name.
    pub runtimes: BTreeMap<String, Runtime>,
    pub images: Arc<Images>,
    pub connectivity: Connectivity,
    pub claims: Claims,
    pub events: Events,
    pub trash: Arc<Trash>,
    /// Tells that the node goes down, and that nothing runs on it any more.
    pub halt: watch::Sender<Option<Halt>>,
    pub rested: CancellationToken,
    pub pods: Cache<Pod>,
    pub services: Cache<Service>,
    pub nodes: Cache<Node>,
    pub ids: Ids,
}

impl Tools {
    pub(super) fn layout(&self) -> Layout {
        Layout::new(&self.root)
    }

    /// The Pods that are bound to this node.
    pub(super) fn bound(&self) -> impl Iterator<Item = Arc<Pod>> + use<> {
        let name = self.node.name.clone();
        let is_bound = move |pod: &Arc<Pod>| {
            pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()) == Some(name.as_str())
        };
        self.pods.all().into_iter().filter(is_bound)
    }

    pub(super) fn directory(&self, uid: &str) -> Directory {
        Directory::new(self.root.join("pods").join(uid))
    }
}
