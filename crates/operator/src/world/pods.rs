//! Whom a change of a Sandbox's child concerns: the Sandbox that owns it, and the one whose child it should be by its name.

use asb_core::object::Key;
use asb_core::sandbox::Observed;
use asb_core::views::{PodView, SandboxView, ServiceView, View, VolumeView};
use asb_core::write::Kind;
use asb_types::names;

use super::{Held, Wake, World, owner_key};
use crate::cache::{Cache, Change};

/// The Sandboxes that own it or owned it.
fn wake_owners<V: View>(change: &Change<V>, wakes: &mut Vec<Wake>) {
    let owners = change.owners().filter(|owner| owner.is(Kind::Sandbox));
    wakes.extend(owners.map(|owner| Wake::Sandbox(owner_key(change.key(), owner))));
}

/// The Sandbox of the same name: somebody else's object may be in its way, or just got out of it.
fn wake_namesake(world: &World, key: &Key, wakes: &mut Vec<Wake>) {
    if world.sandboxes.entry(key).is_some() {
        wakes.push(Wake::Sandbox(key.clone()));
    }
}

impl World {
    /// From now on only children that bear this label are reported.
    pub(crate) fn follow_only(&mut self, label: &'static str) {
        self.pods.follow_only(label);
        self.services.follow_only(label);
        self.volumes.follow_only(label);
    }

    /// Forgets what was met under the names of a Sandbox's children and is not reported.
    pub(crate) fn forget_strays(&mut self, sandbox: &SandboxView) {
        let key = &sandbox.metadata.key;
        for pod in Observed::pod_names(sandbox) {
            self.pods.forget_stray(&key.sibling(pod));
        }
        for volume in Observed::volume_names(sandbox) {
            self.volumes.forget_stray(&key.sibling(&volume));
        }
        self.services.forget_stray(&key.sibling(&names::service(&key.name)));
    }
}

impl Held for PodView {
    fn cache(world: &mut World) -> &mut Cache<Self> {
        &mut world.pods
    }

    fn consequences(world: &mut World, change: &Change<Self>, wakes: &mut Vec<Wake>) {
        wake_owners(change, wakes);
        wake_namesake(world, change.key(), wakes);
    }
}

impl Held for ServiceView {
    fn cache(world: &mut World) -> &mut Cache<Self> {
        &mut world.services
    }

    fn consequences(world: &mut World, change: &Change<Self>, wakes: &mut Vec<Wake>) {
        wake_owners(change, wakes);
        wake_namesake(world, change.key(), wakes);
    }
}

impl Held for VolumeView {
    fn cache(world: &mut World) -> &mut Cache<Self> {
        &mut world.volumes
    }

    /// Also the Sandboxes that would name a volume so: one that is kept has no owner, and one of somebody else's may be in
    /// the way.
    fn consequences(world: &mut World, change: &Change<Self>, wakes: &mut Vec<Wake>) {
        wake_owners(change, wakes);
        let key = change.key();
        for (dash, _) in key.name.match_indices('-') {
            wake_namesake(world, &key.sibling(&key.name[dash + 1..]), wakes);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_sandbox_hears_of_volumes_of_its_name_whosever_they_are() {
        let mut world = World::default();
        let metadata =
            |name: &str| json!({"namespace": "team", "name": name, "uid": name, "resourceVersion": "1"});
        world.learn::<SandboxView>(&json!({"metadata": metadata("my-demo"), "spec": {}})).unwrap();
        let sandbox = [Wake::Sandbox(Key::new("team", "my-demo"))];
        let volume = |name: &str| json!({"metadata": metadata(name)});
        assert_eq!(world.learn::<VolumeView>(&volume("work-my-demo")).unwrap(), sandbox);
        assert_eq!(world.learn::<VolumeView>(&volume("work-demo")).unwrap(), []);
        assert_eq!(
            world.learn_gone::<VolumeView>(&Key::new("team", "work-my-demo"), &"work-my-demo".into()),
            sandbox
        );
    }
}
