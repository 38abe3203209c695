//! What the caches hold about one Sandbox at one moment, and where they are to look.

use std::collections::BTreeMap;
use std::sync::Arc;

use asb_types::annotations::POD_NAME;
use asb_types::{hash, names};
use jiff::SignedDuration;

use super::memory::Memory;
use super::runtime;
use crate::object::Uid;
use crate::views::{PodView, SandboxView, ServiceView, VolumeView};

#[derive(Clone, Debug)]
pub struct Observed {
    pub sandbox: Arc<SandboxView>,
    /// Every Pod whose controller has the Sandbox's UID, whatever its name.
    pub pods: Vec<Arc<PodView>>,
    /// The Pods found under [`Observed::pod_names`], in that order, whoever they belong to.
    pub named_pods: Vec<Arc<PodView>>,
    /// The Service of the Sandbox's name, whoever it belongs to.
    pub service: Option<Arc<ServiceView>>,
    /// The PersistentVolumeClaims found under [`Observed::volume_names`], by name, whoever they belong to.
    pub volumes: BTreeMap<String, Arc<VolumeView>>,
    /// The name of the live Sandbox of the namespace that has the same hash and is served: see
    /// [`collision`](crate::collision).
    pub older_twin: Option<String>,
    /// The nodes that Pods of the Sandbox are terminating on, as far as they are known.
    pub nodes: BTreeMap<String, Node>,
    pub memory: Memory,
    /// The trace that looks at the Sandbox belong to, where it names none itself and somebody records them.
    pub trace: Option<Arc<str>>,
    pub settings: Settings,
}

/// What is known of a node that a Pod does not go away from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    There,
    /// There is no Node of that name.
    Gone,
    /// It bears the taint `node.kubernetes.io/out-of-service`: somebody vouches that nothing runs there.
    OutOfService,
}

/// What is set for the whole operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub cluster_domain: Arc<str>,
    /// How long changes to a Pod's metadata are gathered before they are written.
    pub write_behind: SignedDuration,
    /// Where sandboxd comes from, if it can be had.
    pub runtime: Option<Arc<runtime::Source>>,
}

impl Observed {
    /// Where to look for a Pod by name, best first.
    pub fn pod_names(sandbox: &SandboxView) -> impl Iterator<Item = &str> {
        let own = sandbox.metadata.name();
        sandbox.metadata.annotation(POD_NAME).filter(|name| *name != own).into_iter().chain([own])
    }

    /// The names of the PersistentVolumeClaims that the Sandbox has or is to have.
    pub fn volume_names(sandbox: &SandboxView) -> Vec<String> {
        let templates = sandbox.volumes.value();
        let names = templates.as_array().into_iter().flatten().map(super::volumes::template_name);
        names.map(|name| names::volume_claim(name, sandbox.metadata.name())).collect()
    }

    pub(super) fn uid(&self) -> &Uid {
        &self.sandbox.metadata.uid
    }

    pub(super) fn name(&self) -> &str {
        self.sandbox.metadata.name()
    }

    pub(super) fn name_hash(&self) -> String {
        hash::fnv1a_hex(self.name())
    }

    /// Where the node is lost, nobody will ever confirm that a Pod has ended.
    pub(super) fn has_lost(&self, node: &str) -> bool {
        matches!(self.nodes.get(node), Some(Node::Gone | Node::OutOfService))
    }
}
