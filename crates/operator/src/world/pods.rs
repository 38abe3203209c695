//! Whom a change of a Sandbox's child concerns: the Sandbox that owns it, and the one whose child it should be by its name.

use asb_core::object::Key;
use asb_core::views::{PodView, ServiceView, View, VolumeView};
use asb_core::write::Kind;

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

    fn consequences(_: &mut World, change: &Change<Self>, wakes: &mut Vec<Wake>) {
        wake_owners(change, wakes);
    }
}
