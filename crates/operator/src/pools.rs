//! Looks after SandboxWarmPools. What one needs is decided in [`asb_core::pool`].
//!
//! Creates and deletes are errands that nobody waits for: a pool is looked at again while they are under way, and what is
//! under way counts.

mod errand;
mod ledger;
mod observe;

use std::sync::Arc;

use asb_core::object::{Key, Metadata};
use asb_core::pool::{Plan, Report, plan, report};
use asb_core::views::PoolView;
use asb_core::write::{Kind, Target, Write};

use crate::caches::Caches;
use crate::context::Context;
use crate::errands::Errands;
use crate::queue::{Next, Queue, Urgency};
use crate::traffic::Class;
use crate::workers::Controller;
use observe::{Snapshot, observe};

pub(crate) use ledger::Ledgers;

pub(crate) struct Pools {
    context: Arc<Context>,
    errands: Arc<Errands>,
}

impl Controller for Pools {
    type Object = PoolView;

    const NAME: &'static str = "sandboxwarmpool";

    fn queue(caches: &Caches) -> &Queue {
        &caches.queues.pools
    }

    async fn reconcile(&self, key: &Key) -> Next {
        let context = &self.context;
        let Some(snapshot) = context.caches.read(|world| observe(world, key)) else {
            context.memory().pools.forget(key);
            return context.tell_unreadable::<PoolView>(key, Class::Housekeeping).await;
        };
        context.memory().pools.landed(key, snapshot.names());
        let mut starts = Vec::new();
        context.caches.change(Urgency::Live, |world| {
            starts = world.take_starts(key);
            Vec::new()
        });
        let members = snapshot.members();
        let book = context.memory().pools.open(&snapshot.pool.metadata, &members, starts);
        if let Some(wait) = book.setback(context.now()) {
            return Next::After(wait);
        }
        let observed = snapshot.observed(&members, &book, &context.settings.pools, context.dice.roll());
        let plan = plan(&observed, context.now());
        context.memory().pools.note(&plan, key);
        let is_settled = self.carry_out(&plan, &snapshot.pool.metadata).await;
        let report = report(&observed, &plan, book.failure.as_ref(), context.now());
        let is_told = self.tell(&report, &snapshot, key).await;
        if is_settled && is_told {
            context.next(plan.look_again.into_iter().chain(report.look_again).min())
        } else {
            Next::Retry
        }
    }
}

impl Pools {
    /// Takes up the work, perhaps after another has done it for a while.
    pub(crate) fn new(context: Arc<Context>, errands: Arc<Errands>) -> Self {
        Self { context, errands }
    }

    /// Sends creates and deletes on their way, and does what is quick at once.
    async fn carry_out(&self, plan: &Plan, pool: &Metadata) -> bool {
        let mut is_settled = true;
        for write in &plan.writes {
            match write {
                Write::Create { .. } | Write::Delete { .. } => self.send(write.clone(), pool),
                Write::Patch { .. } => {
                    is_settled &= self.context.carry_out([write], Class::Housekeeping).await.is_ok();
                }
            }
        }
        for lost in &plan.lookups {
            is_settled &= self.look_up(lost, &pool.key).await;
        }
        is_settled
    }

    fn send(&self, write: Write, pool: &Metadata) {
        let (context, key) = (Arc::clone(&self.context), pool.key.clone());
        self.errands.send(errand::run(context, key, pool.generation, write));
    }

    /// Finds out about a create that was never answered and is no longer wanted.
    async fn look_up(&self, member: &Key, pool: &Key) -> bool {
        let found = self.context.writer.read(&Target::new(Kind::Sandbox, member.clone())).await;
        // One that is not there may still come, and goes on counting.
        if matches!(found, Ok(Some(_))) {
            self.context.memory().pools.landed(pool, [&*member.name]);
        }
        found.is_ok()
    }

    async fn tell(&self, report: &Report, snapshot: &Snapshot, key: &Key) -> bool {
        let metadata = &snapshot.pool.metadata;
        for event in &report.events {
            self.context.recorder.record(event, Kind::SandboxWarmPool, metadata);
        }
        let written = self.context.carry_out(&report.write, Class::Housekeeping).await;
        if written.is_ok() {
            self.context.memory().pools.told(key, report.debounce.clone());
        }
        written.is_ok()
    }
}
