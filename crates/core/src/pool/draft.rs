//! The plan of a pool while it is made: deletes, creates, and when to look again.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::census::{Census, Counted};
use super::naming::{self, Chance};
use super::rollout::{self, Rollout};
use super::{Memory, Observed, Plan, after};
use crate::blueprint::Blueprint;
use crate::object::{Key, Uid};
use crate::write::{Deleting, Kind, Target, Write};

/// How long members that are too many are kept for the claims that expect them, before that is looked at again.
const RECONSIDER: SignedDuration = SignedDuration::from_secs(5);

/// A plan in the making.
pub(super) struct Draft<'a> {
    observed: &'a Observed<'a>,
    now: Timestamp,
    pub plan: Plan,
}

impl<'a> Draft<'a> {
    pub(super) fn new(observed: &'a Observed<'a>, memory: Memory, now: Timestamp) -> Self {
        Self { observed, now, plan: Plan { memory, ..Plan::default() } }
    }

    /// Brings the pool nearer to its size; says who will not be there afterwards.
    pub(super) fn fill<'c>(
        &mut self,
        census: &'c Census<'_>,
        blueprint: Option<&Blueprint<'_>>,
        wanted: usize,
    ) -> BTreeSet<&'c Uid> {
        let rollout = Rollout::of(self.observed.pool, wanted);
        let doomed = rollout::doomed(&census.active, &rollout, wanted);
        let staying: Vec<_> = census.active.iter().filter(|member| !doomed.contains(member.uid())).collect();
        let settings = self.observed.settings;
        self.plan.memory.refill.note(staying.len() + census.pending(), wanted, settings, self.now);
        self.plan
            .writes
            .extend(staying.iter().filter_map(|member| member.mending(&self.observed.pool.metadata)));
        if let Some(blueprint) = blueprint {
            self.create(census, &rollout.need(&staying, census, doomed.len(), wanted), blueprint);
        } else {
            self.look_up(&census.lost);
        }
        self.delete(census, &doomed);
        self.watch_over(&staying);
        // Some may have been spared for a claim, which may yet do without.
        let is_spared = staying.len() > wanted && staying.iter().any(|member| member.is_expected);
        self.look_again(is_spared.then(|| after(self.now, RECONSIDER)));
        doomed
    }

    fn look_up(&mut self, names: &[&str]) {
        let keys: Vec<_> = names.iter().map(|name| self.key(name)).collect();
        self.plan.lookups.extend(keys);
    }

    fn key(&self, name: &str) -> Key {
        self.observed.pool.metadata.key.sibling(name)
    }

    fn create(&mut self, census: &Census<'_>, need: &rollout::Need, blueprint: &Blueprint<'_>) {
        let (again, unwanted) = census.lost.split_at(need.lost);
        self.look_up(unwanted);
        let grant = self.plan.memory.refill.grant(need.creates, self.observed.settings, self.now);
        self.look_again(grant.again);
        let pool = &self.observed.pool.metadata;
        let names = naming::fresh(pool.name(), grant.count, &census.names, &mut Chance(self.observed.chance));
        for name in again.iter().map(|name| (*name).to_owned()).chain(names) {
            let object = blueprint.member(pool, &name, self.observed.settings.eviction);
            self.plan
                .writes
                .push(Write::Create { target: Target::new(Kind::Sandbox, self.key(&name)), object });
        }
    }

    /// Only as it was seen: a member that a claim has taken meanwhile is not the pool's to delete.
    fn delete(&mut self, census: &Census<'_>, doomed: &BTreeSet<&Uid>) {
        let newly = census.active.iter().filter(|member| doomed.contains(member.uid()));
        let dying: Vec<_> =
            census.unanswered.iter().copied().chain(newly.map(|member| member.sandbox)).collect();
        let most = self.observed.settings.max_batch;
        let deletes = dying.iter().take(most).map(|sandbox| {
            Write::delete(Kind::Sandbox, &sandbox.metadata, Deleting::Background)
                .locked(sandbox.metadata.version)
        });
        self.plan.writes.extend(deletes);
        self.look_again((dying.len() > most).then_some(self.now));
    }

    /// Looks again when a member that is not ready has had its time, a little later and not all pools at once.
    fn watch_over(&mut self, staying: &[&Counted<'_>]) {
        let settings = self.observed.settings;
        let deadline = staying.iter().filter_map(|member| member.deadline()).min();
        let jitter = 10 + i32::try_from(Chance(self.observed.chance).next() % 6).unwrap_or_default();
        let wait = |deadline: Timestamp| {
            (deadline.duration_since(self.now) + SignedDuration::from_secs(2)) * jitter / 10
        };
        let late = deadline.map(|deadline| after(self.now, wait(deadline)));
        let held = staying.iter().any(|member| member.is_held());
        self.look_again(late);
        self.look_again(held.then(|| after(self.now, settings.unschedulable_recheck)));
    }

    pub(super) fn look_again(&mut self, at: Option<Timestamp>) {
        self.plan.look_again = self.plan.look_again.into_iter().chain(at).min();
    }
}
