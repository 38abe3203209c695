//! Whom a change of a claim concerns: itself.

use asb_core::views::ClaimView;

use super::{Held, Wake, World};
use crate::cache::{Cache, Change, Entry};

impl Held for ClaimView {
    fn cache(world: &mut World) -> &mut Cache<Self> {
        &mut world.claims
    }

    fn consequences(world: &mut World, change: &Change<Self>, wakes: &mut Vec<Wake>) {
        let key = change.key();
        let pool = |entry: &Option<Entry<Self>>| {
            let claim = entry.as_ref()?.as_ref().ok()?;
            Some(key.sibling(claim.request.pool()))
        };
        world.claims_of_pool.update(key, pool(&change.before), pool(&change.after));
        world.note_arrival(change);
        wakes.push(Wake::Claim(key.clone()));
    }
}
