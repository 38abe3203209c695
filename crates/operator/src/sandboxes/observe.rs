//! What is known about one Sandbox at this moment.

use std::sync::Arc;

use asb_core::object::Key;
use asb_core::sandbox::{Memory, Observed, Settings};
use asb_core::write::Kind;
use asb_types::names;

use super::{Sandboxes, nodes};
use crate::world::World;

impl Sandboxes {
    /// The caches' knowledge, and of nodes that a Pod does not go away from, the API server's.
    pub(super) async fn observe(&self, key: &Key) -> Option<Observed> {
        let settings = Settings {
            cluster_domain: self.context.settings.cluster_domain.as_str().into(),
            write_behind: self.context.settings.write_behind,
            runtime: self.context.settings.runtime.clone(),
        };
        let mut observed = self.context.caches.read(|world| from_caches(world, key, settings))?;
        observed.trace = self.context.memory().traces.of(Kind::Sandbox, &observed.sandbox.metadata);
        observed.memory = self.context.memory().sandboxes.of(&observed.sandbox.metadata);
        observed.nodes = nodes::of_stuck_pods(&observed, &self.context).await;
        Some(observed)
    }
}

fn from_caches(world: &World, key: &Key, settings: Settings) -> Option<Observed> {
    let sandbox = Arc::clone(world.sandboxes.get(key)?);
    let named_pods =
        Observed::pod_names(&sandbox).filter_map(|name| world.pods.get(&key.sibling(name)).cloned());
    let volumes = Observed::volume_names(&sandbox).into_iter().filter_map(|name| {
        let volume = world.volumes.get(&key.sibling(&name))?;
        Some((name, Arc::clone(volume)))
    });
    Some(Observed {
        pods: world.pods.owned_by(&sandbox.metadata.uid).cloned().collect(),
        named_pods: named_pods.collect(),
        service: world.services.get(&key.sibling(&names::service(&key.name))).cloned(),
        volumes: volumes.collect(),
        older_twin: world.older_twin(&sandbox),
        nodes: std::collections::BTreeMap::new(),
        memory: Memory::default(),
        trace: None,
        settings,
        sandbox,
    })
}
