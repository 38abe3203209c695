//! Everything the operator knows, in memory, and whom a change of it concerns. Synchronous: a change is taken over and
//! its consequences are named under one lock, and nobody sees half of it.

mod allocation;
mod census;
mod claims;
mod contenders;
mod index;
mod moments;
mod pods;
mod pools;
mod sandboxes;
mod shorthand;
mod sizes;
mod starts;
mod templates;

use std::sync::Arc;

use asb_core::allocation::Book;
use asb_core::census::{Category, Membership};
use asb_core::document::Documents;
use asb_core::object::{Key, MissingMetadata, Owner, Uid};
use asb_core::views::{
    ClaimView, NetworkPolicyView, PodView, PoolView, SandboxView, ServiceView, TemplateView, View,
    VolumeView, read,
};
use asb_core::write::Kind;
use jiff::Timestamp;
use serde_json::Value;

use crate::cache::{Cache, Change, Entry};
use census::Tally;
use index::Index;
pub(crate) use index::hash_key;
use moments::Moments;
pub(crate) use shorthand::{Short, Shorthands};
use starts::Starts;

/// An object that a controller is to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wake {
    Sandbox(Key),
    Claim(Key),
    Template(Key),
    Pool(Key),
    /// One in a short spelling, by its kind.
    Shorthand(Kind, Key),
}

#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) sandboxes: Cache<SandboxView>,
    pub(crate) claims: Cache<ClaimView>,
    pub(crate) templates: Cache<TemplateView>,
    pub(crate) pools: Cache<PoolView>,
    pub(crate) pods: Cache<PodView>,
    pub(crate) services: Cache<ServiceView>,
    pub(crate) volumes: Cache<VolumeView>,
    pub(crate) network_policies: Cache<NetworkPolicyView>,
    pub(crate) shorthands: Shorthands,
    /// Claims, by the pool they name.
    pub(crate) claims_of_pool: Index,
    /// Pools, by the template they name.
    pub(crate) pools_of_template: Index,
    /// Sandboxes, templates and pools, by the hash of their name: objects whose hashes collide share labels.
    pub(crate) sandboxes_of_hash: Index,
    pub(crate) templates_of_hash: Index,
    pub(crate) pools_of_hash: Index,
    /// Sandboxes, by the hash of the pool whose label they bear.
    pub(crate) members_of_hash: Index,
    /// Who gets which warm Sandbox.
    pub(crate) book: Book,
    starts: Starts,
    /// When claims came that do not say so yet.
    pub(crate) arrivals: Moments,
    /// When Sandboxes were asked to suspend or to resume that have not yet done so.
    pub(crate) mode_changes: Moments,
    /// How many Sandboxes there are, of each sort.
    pub(crate) census: Tally<Category>,
    /// How many Sandboxes pools have, of each sort.
    memberships: Tally<Membership>,
    /// The time of the change that is being made.
    pub(crate) now: Timestamp,
    documents: Documents,
}

/// A kind that is held in the [`World`].
pub(crate) trait Held: View + Send + Sync + 'static {
    fn cache(world: &mut World) -> &mut Cache<Self>;

    /// Brings what is derived from the cache up to date, and names whom the change concerns.
    fn consequences(world: &mut World, change: &Change<Self>, wakes: &mut Vec<Wake>);
}

impl World {
    /// An object as the API server sent it, ready to be taken over.
    pub(crate) fn entry<V: Held>(&mut self, object: &Value) -> Result<Entry<V>, MissingMetadata> {
        Ok(read::<V>(object)?.map_err(Arc::new).map(|mut view| {
            view.share(&mut self.documents);
            Arc::new(view)
        }))
    }

    /// Takes over a change, made by one of the cache's own methods, with all that follows from it.
    pub(crate) fn take<V: Held>(&mut self, take: impl FnOnce(&mut Cache<V>) -> Vec<Change<V>>) -> Vec<Wake> {
        let mut wakes = Vec::new();
        for change in take(V::cache(self)) {
            V::consequences(self, &change, &mut wakes);
        }
        wakes
    }

    /// Takes over an object from the answer to a read or write of ours.
    pub(crate) fn learn<V: Held>(&mut self, object: &Value) -> Result<Vec<Wake>, MissingMetadata> {
        let entry = self.entry::<V>(object)?;
        Ok(self.take::<V>(|cache| cache.learn(entry).into_iter().collect()))
    }

    /// Takes over that an object is gone.
    pub(crate) fn learn_gone<V: Held>(&mut self, key: &Key, uid: &Uid) -> Vec<Wake> {
        self.take::<V>(|cache| cache.learn_gone(key, uid).into_iter().collect())
    }

    /// Every object that a controller looks after.
    pub(crate) fn everything(&self) -> Vec<Wake> {
        let templates = self.templates.keys().into_iter().cloned().map(Wake::Template);
        let pools = self.pools.keys().into_iter().cloned().map(Wake::Pool);
        let claims = self.claims.keys().into_iter().cloned().map(Wake::Claim);
        let sandboxes = self.sandboxes.keys().into_iter().cloned().map(Wake::Sandbox);
        let shorthands = self.shorthands.everything();
        shorthands.chain(templates).chain(pools).chain(claims).chain(sandboxes).collect()
    }

    /// Whether everything there is has been listed once. Before that, absence proves nothing.
    pub(crate) fn is_synced(&self) -> bool {
        self.sandboxes.is_synced()
            && self.claims.is_synced()
            && self.templates.is_synced()
            && self.pools.is_synced()
            && self.pods.is_synced()
            && self.services.is_synced()
            && self.volumes.is_synced()
            && self.network_policies.is_synced()
            && self.shorthands.is_synced()
    }

    /// Which request to list again what one leader writes and the next one decides by was last met.
    pub(crate) fn round(&self) -> u64 {
        self.sandboxes.round().min(self.claims.round())
    }
}

/// Keeps an index by hash of the name up to date, and names those whom a deletion may set free: objects whose names have
/// one hash share labels, so only the first of them may be served.
fn freed_by_hash<V: View>(index: &mut Index, change: &Change<V>) -> Vec<Key> {
    let key = change.key();
    let hash = hash_key(key);
    let place = |side: &Option<Entry<V>>| side.as_ref().map(|_| hash.clone());
    index.update(key, place(&change.before), place(&change.after));
    if change.after.is_some() { Vec::new() } else { index.get(&hash).cloned().collect() }
}

/// The key of the owner of the object under `key`.
fn owner_key(key: &Key, owner: &Owner) -> Key {
    key.sibling(&owner.name)
}
