//! Whom a change of a pool concerns: itself, the claims that wait for it, and its namesakes by hash.

use asb_core::views::PoolView;

use super::{Held, Wake, World, freed_by_hash};
use crate::cache::{Cache, Change, Entry, metadata};

impl Held for PoolView {
    fn cache(world: &mut World) -> &mut Cache<Self> {
        &mut world.pools
    }

    fn consequences(world: &mut World, change: &Change<Self>, wakes: &mut Vec<Wake>) {
        let key = change.key();
        let template = |entry: &Option<Entry<Self>>| {
            let pool = entry.as_ref()?.as_ref().ok()?;
            Some(key.sibling(&pool.template))
        };
        wakes.extend(freed_by_hash(&mut world.pools_of_hash, change).into_iter().map(Wake::Pool));
        world.pools_of_template.update(key, template(&change.before), template(&change.after));
        wakes.extend(world.book_pool(change));
        wakes.push(Wake::Pool(key.clone()));
        if is_news_to_claims(change) {
            wakes.extend(
                world
                    .claims_of_pool
                    .get(key)
                    .filter(|claim| world.is_unbound(claim))
                    .cloned()
                    .map(Wake::Claim),
            );
        }
    }
}

/// Its status is no news to claims: what the pool holds, they learn from its Sandboxes.
fn is_news_to_claims(change: &Change<PoolView>) -> bool {
    let generation = |entry| metadata(entry).generation;
    change.before.as_ref().map(generation) != change.after.as_ref().map(generation)
}

impl World {
    /// Whether a claim still has no Sandbox.
    pub(super) fn is_unbound(&self, claim: &asb_core::object::Key) -> bool {
        self.claims
            .get(claim)
            .is_some_and(|claim| claim.status.sandbox.name.is_empty() && !claim.metadata.is_deleting())
    }
}
