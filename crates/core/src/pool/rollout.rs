//! Which members go, and how many may come. When a template changes, members that no longer match it are replaced: all
//! at once, or a few at a time where the user bounds how many may be missing or too many.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use asb_types::v1beta1::UpdateStrategyType;

use super::census::{Census, Counted};
use crate::object::Uid;
use crate::views::{Bound, PoolView};

/// Whether claims may have members that no longer match the template. Where they are deleted at once, a claim that took
/// one would take it from under the pool's hands.
pub fn hands_out_stale(pool: &PoolView) -> bool {
    pool.update_strategy == UpdateStrategyType::OnReplenish || is_bounded(pool)
}

fn is_bounded(pool: &PoolView) -> bool {
    pool.max_unavailable.is_some() || pool.max_surge.is_some()
}

/// How far a pool may be from its size while stale members are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rollout {
    unavailable: usize,
    surge: usize,
}

/// How many creates are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    /// Of those that may have been made already.
    pub lost: usize,
    /// Of new ones.
    pub creates: usize,
}

impl Rollout {
    /// Percentages are rounded as those of a Deployment: down for what may be missing, up for what may be too many.
    pub(super) fn of(pool: &PoolView, wanted: usize) -> Self {
        if !is_bounded(pool) {
            return Self { unavailable: wanted, surge: 0 };
        }
        let part = |bound: &Option<Bound>, round_up: usize| match bound {
            Some(Bound::Count(count)) => *count,
            Some(Bound::Percent(percent)) => wanted.saturating_mul(*percent).saturating_add(round_up) / 100,
            Some(Bound::Nonsense(_)) | None => 0,
        };
        let (unavailable, surge) = (part(&pool.max_unavailable, 0), part(&pool.max_surge, 99));
        // With neither nothing would ever move.
        Self { unavailable: if surge == 0 { unavailable.max(1) } else { unavailable }, surge }
    }

    pub(super) fn need(
        &self,
        staying: &[&Counted<'_>],
        census: &Census<'_>,
        doomed: usize,
        wanted: usize,
    ) -> Need {
        let fresh = staying.iter().filter(|member| member.is_fresh).count();
        let ceiling = self.ceiling(staying.len() - fresh, wanted);
        let certain = staying.len() + doomed + census.terminating + census.awaited;
        let room = ceiling.saturating_sub(certain).min(wanted.saturating_sub(fresh + census.awaited));
        // Where not all of them are wanted, those that were not made must not be made now: the others may be there.
        let lost = if census.lost.len() <= room { census.lost.len() } else { 0 };
        Need { lost, creates: room.saturating_sub(census.lost.len()) }
    }

    /// The most members, of all sorts, that a create may lead to.
    fn ceiling(&self, stale: usize, wanted: usize) -> usize {
        wanted.saturating_add(self.surge.min(stale))
    }
}

/// Who is to be deleted: those that had their time to become ready, those that are stale, those that are too many.
pub(super) fn doomed<'a>(active: &'a [Counted<'_>], rollout: &Rollout, wanted: usize) -> BTreeSet<&'a Uid> {
    let mut candidates: Vec<_> = active.iter().filter(|member| !member.is_orphan).collect();
    candidates.sort_by_key(|member| {
        let metadata = &member.sandbox.metadata;
        (member.is_fresh, member.is_ready(), Reverse(metadata.created), Reverse(&metadata.key))
    });
    let mut doomed: BTreeSet<_> =
        active.iter().filter(|member| member.is_stuck() && !member.is_orphan).map(Counted::uid).collect();
    doom_stale(&candidates, rollout, wanted, &mut doomed);
    let stale = candidates.iter().filter(|member| !member.is_fresh && !doomed.contains(member.uid())).count();
    let excess = (active.len() - doomed.len()).saturating_sub(rollout.ceiling(stale, wanted));
    // Whoever expects one takes it away in a moment. A pool that is to have none gives none.
    let spare = candidates.iter().filter(|member| wanted == 0 || !member.is_expected);
    let surplus: Vec<_> =
        spare.map(|member| member.uid()).filter(|uid| !doomed.contains(uid)).take(excess).collect();
    doomed.extend(surplus);
    doomed
}

/// Stale members that are not ready serve nobody; of the others so many go that enough stay ready.
fn doom_stale<'a>(
    candidates: &[&'a Counted<'_>],
    rollout: &Rollout,
    wanted: usize,
    doomed: &mut BTreeSet<&'a Uid>,
) {
    let ready = candidates.iter().filter(|member| member.is_ready()).count();
    let mut spare = ready.saturating_sub(wanted.saturating_sub(rollout.unavailable));
    for member in candidates.iter().filter(|member| !member.is_fresh) {
        if member.is_ready() {
            if spare == 0 {
                return;
            }
            spare -= 1;
        }
        doomed.insert(member.uid());
    }
}
