//! Looks after Sandboxes. What one needs is decided in [`asb_core::sandbox`].

mod apply;
mod nodes;
mod observe;
mod turning;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use asb_core::object::{Key, Uid};
use asb_core::report::{Event, Severity};
use asb_core::sandbox::{Due, Observed, Plan, Trouble, plan, status, status_is_due};
use asb_core::views::SandboxView;
use asb_core::write::Kind;
use jiff::Timestamp;

use crate::caches::Caches;
use crate::context::Context;
use crate::queue::{Next, Queue};
use crate::traffic::Class;
use crate::workers::Controller;
use apply::{Outcome, apply};
use turning::Turning;

pub(crate) struct Sandboxes {
    context: Arc<Context>,
    /// Since when a write that can wait has been put off, by Sandbox.
    put_off: Mutex<HashMap<Uid, Timestamp>>,
    turning: Turning,
}

impl Sandboxes {
    pub(crate) fn new(context: Arc<Context>) -> Self {
        let turning = Turning::new(&context.metrics);
        Self { context, put_off: Mutex::default(), turning }
    }
}

impl Controller for Sandboxes {
    const NAME: &'static str = "sandbox";

    fn queue(caches: &Caches) -> &Queue {
        &caches.queues.sandboxes
    }

    async fn reconcile(&self, key: &Key) -> Next {
        let Some(observed) = self.observe(key).await else {
            self.turning.forget(key);
            return self.context.tell_unreadable::<SandboxView>(key, Class::Sandbox).await;
        };
        let plan = plan(&observed, self.context.now());
        self.remember(&observed, &plan);
        let Outcome::Done(troubles) = apply(&self.context, &observed, &plan).await else {
            return Next::Again;
        };
        self.warn(&observed, &plan);
        // What was written is in the caches by now.
        let Some(after) = self.observe(key).await else { return Next::Settled };
        let reported = self.report(&after, &troubles).await;
        self.next(&plan, &troubles, reported)
    }
}

/// What came of the status.
enum Reported {
    /// It says what it should, or will at that time.
    Settled(Option<Timestamp>),
    Failed,
}

impl Sandboxes {
    async fn report(&self, after: &Observed, troubles: &[Trouble]) -> Reported {
        let now = self.context.now();
        self.turning.catch_up(&after.sandbox);
        let next = status(after, troubles, now);
        match status_is_due(&after.sandbox, &next, now) {
            Due::No => Reported::Settled(None),
            Due::At(time) => Reported::Settled(Some(time)),
            Due::Now => {
                let (sandbox, class) = (&after.sandbox, apply::class(&after.sandbox));
                let telling = Turning::begin(&self.context, sandbox, &next, now);
                let written = self.context.carry_out(&next.write(sandbox), class).await;
                self.turning.end(sandbox, telling, &written);
                if written.is_ok() { Reported::Settled(None) } else { Reported::Failed }
            }
        }
    }

    fn next(&self, plan: &Plan, troubles: &[Trouble], reported: Reported) -> Next {
        match reported {
            Reported::Failed => Next::Retry,
            _ if troubles.iter().any(|trouble| trouble.class.is_worth_another_try()) => Next::Retry,
            Reported::Settled(due) => self.context.next(plan.look_again.into_iter().chain(due).min()),
        }
    }

    fn warn(&self, observed: &Observed, plan: &Plan) {
        for warning in &plan.warnings {
            let event = Event {
                severity: Severity::Warning,
                reason: warning.reason,
                action: warning.action,
                note: warning.note.clone(),
            };
            self.context.recorder.record(&event, Kind::Sandbox, &observed.sandbox.metadata);
        }
    }

    fn remember(&self, observed: &Observed, plan: &Plan) {
        let uid = &observed.sandbox.metadata.uid;
        match plan.pod.put_off_since {
            Some(since) => drop(self.put_off().insert(uid.clone(), since)),
            None => drop(self.put_off().remove(uid)),
        }
    }

    fn put_off(&self) -> MutexGuard<'_, HashMap<Uid, Timestamp>> {
        self.put_off.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
