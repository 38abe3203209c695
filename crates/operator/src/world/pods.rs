//! Whom a change of a Sandbox's child concerns: the Sandbox that owns it, and the one whose child it should be by its name.

use asb_core::object::Key;
use asb_core::views::{PodView, ServiceView, View, VolumeView};
use asb_core::write::Kind;
use asb_types::labels::SANDBOX_NAME_HASH;

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

    fn consequences(world: &mut World, change: &Change<Self>, wakes: &mut Vec<Wake>) {
        wake_owners(change, wakes);
        // One that outlives its Sandbox has no owner; a label says whose it is.
        let key = change.key();
        let hashes = change.views().filter_map(|volume| volume.metadata.label(SANDBOX_NAME_HASH));
        let sandboxes = hashes
            .flat_map(|hash| world.sandboxes_of_hash.get(&key.sibling(hash)).cloned().collect::<Vec<_>>());
        wakes.extend(sandboxes.map(Wake::Sandbox));
    }
}

#[cfg(test)]
mod tests {
    use asb_core::views::SandboxView;
    use asb_types::hash::fnv1a_hex;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_sandbox_hears_that_a_volume_is_gone_which_is_to_outlive_it() {
        let mut world = World::default();
        let metadata = json!({"namespace": "team", "name": "box", "uid": "box", "resourceVersion": "1"});
        world.learn::<SandboxView>(&json!({"metadata": metadata})).unwrap();
        let labels = json!({SANDBOX_NAME_HASH: fnv1a_hex("box")});
        let metadata = json!({"namespace": "team", "name": "work-box", "uid": "volume", "resourceVersion": "2",
            "labels": labels});
        world.learn::<VolumeView>(&json!({"metadata": metadata})).unwrap();
        let wakes = world.learn_gone::<VolumeView>(&Key::new("team", "work-box"), &"volume".into());
        assert_eq!(wakes, [Wake::Sandbox(Key::new("team", "box"))]);
    }
}
