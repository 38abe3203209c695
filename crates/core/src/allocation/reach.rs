//! What a claim may take: from few shelves, whatever they hold.

use std::sync::Arc;

use jiff::Timestamp;

use super::claimant::Claimant;
use super::estimate::Estimate;
use super::shelf::Shelf;
use super::{Book, Progress, Ticket};
use crate::object::{Key, Uid};
use crate::views::Request;

impl Book {
    pub(super) fn shelves_of<'a>(
        &'a self,
        claimant: &'a Claimant,
    ) -> impl Iterator<Item = (&'a Shelf, &'a Arc<str>)> {
        let pools: Vec<Key> = match &claimant.request {
            Request::Fresh { .. } => Vec::new(),
            Request::Pool(pool) => vec![claimant.key.sibling(pool)],
            Request::Template { template, .. } => {
                self.stocked.get(&claimant.key.sibling(template)).into_iter().flatten().cloned().collect()
            }
        };
        pools.into_iter().flat_map(|pool| {
            self.shelves
                .range((pool.clone(), "".into())..)
                .take_while(move |((of, _), _)| *of == pool)
                .filter(|((_, template), _)| claimant.takes(template))
                .map(|((_, template), shelf)| (shelf, template))
        })
    }

    pub(super) fn best(&self, claim: &Uid) -> Option<Ticket> {
        let best_of = |progress| {
            let shelves = self.shelves_of(&self.claimants[claim]);
            shelves.filter_map(|(shelf, _)| shelf.best(progress)).min()
        };
        best_of(Progress::Ready).or_else(|| best_of(Progress::Reachable)).map(|rank| rank.first)
    }

    /// The member under way that started first, among those that nobody expects and that are not overdue.
    pub(super) fn soonest(&self, claimant: &Claimant, now: Timestamp) -> Option<Ticket> {
        let candidates = self.shelves_of(claimant).filter_map(|(shelf, template)| {
            let slowest = self.estimate(&claimant.key.sibling(template)).map(Estimate::slowest);
            let since = slowest.and_then(|slowest| now.checked_sub(slowest).ok()).unwrap_or(Timestamp::MIN);
            shelf.soonest(since, now)
        });
        candidates.min().map(|(_, ticket)| ticket)
    }

    pub(super) fn is_stocked(&self, claim: &Uid) -> bool {
        self.shelves_of(&self.claimants[claim]).next().is_some()
    }
}
