//! Whom a change of a Sandbox concerns: itself, the claim or pool it belongs to or belonged to, and its namesakes by hash.

use asb_core::conditions::find;
use asb_core::views::SandboxView;
use asb_core::write::Kind;
use asb_types::conditions::{FINISHED, READY};
use asb_types::labels::WARM_POOL;

use super::{Held, Wake, World, freed_by_hash, owner_key};
use crate::cache::{Cache, Change, Entry, metadata};

impl Held for SandboxView {
    fn cache(world: &mut World) -> &mut Cache<Self> {
        &mut world.sandboxes
    }

    fn consequences(world: &mut World, change: &Change<Self>, wakes: &mut Vec<Wake>) {
        let key = change.key();
        wakes.extend(freed_by_hash(&mut world.sandboxes_of_hash, change).into_iter().map(Wake::Sandbox));
        let hash =
            |entry: &Option<Entry<Self>>| Some(key.sibling(metadata(entry.as_ref()?).label(WARM_POOL)?));
        let (before, after) = (hash(&change.before), hash(&change.after));
        let pools = before.iter().chain(&after).flat_map(|hash| world.pools_of_hash.get(hash));
        wakes.extend(pools.cloned().map(Wake::Pool));
        world.members_of_hash.update(key, before, after);
        wakes.extend(world.book_sandbox(change));
        world.count(change);
        world.note_mode_change(change);
        wakes.push(Wake::Sandbox(key.clone()));
        if change.after.is_none() && world.is_unbound(key) {
            // Its name is free again, and a claim of that name may wait for it.
            wakes.push(Wake::Claim(key.clone()));
        }
        for owner in change.owners() {
            if owner.is(Kind::SandboxClaim) && concerns_claim(change) {
                wakes.push(Wake::Claim(owner_key(key, owner)));
            }
            // Its label may be gone.
            if owner.is(Kind::SandboxWarmPool) {
                wakes.push(Wake::Pool(owner_key(key, owner)));
            }
        }
    }
}

/// What a claim shows of its Sandbox. Anything else is no reason to look at the claim again.
fn concerns_claim(change: &Change<SandboxView>) -> bool {
    let (Some(Ok(before)), Some(Ok(after))) = (&change.before, &change.after) else { return true };
    before.metadata.owner != after.metadata.owner
        || before.metadata.is_deleting() != after.metadata.is_deleting()
        || before.status.pod_ips != after.status.pod_ips
        || shown(before) != shown(after)
}

/// The conditions that a claim copies. Which generation they were decided on is not among what it copies.
fn shown(sandbox: &SandboxView) -> [Option<(&str, &str, &str, &jiff::Timestamp)>; 2] {
    [READY, FINISHED].map(|type_| {
        find(&sandbox.status.conditions, type_).map(|condition| {
            let since = &condition.last_transition_time.0;
            (condition.status.as_str(), condition.reason.as_str(), condition.message.as_str(), since)
        })
    })
}
