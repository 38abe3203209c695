//! Looks after Sandboxes. What one needs is decided in [`asb_core::sandbox`].

mod apply;
mod nodes;
mod notes;
mod observe;
mod turning;

use std::sync::Arc;

use asb_core::object::Key;
use asb_core::report::{Event, Severity};
use asb_core::sandbox::{
    Class as TroubleClass, Due, Memory, Observed, Plan, Refusal, Trouble, plan, status, status_is_due,
};
use asb_core::views::SandboxView;
use asb_core::write::Kind;
use jiff::Timestamp;

use crate::caches::Caches;
use crate::context::Context;
use crate::queue::{Next, Queue, Urgency};
use crate::spans;
use crate::traffic::Class;
use crate::workers::Controller;
use apply::{Outcome, apply};
use turning::Turning;

pub(crate) use notes::Notes;

pub(crate) struct Sandboxes {
    context: Arc<Context>,
    turning: Turning,
}

impl Controller for Sandboxes {
    type Object = SandboxView;

    const NAME: &'static str = "sandbox";

    fn queue(caches: &Caches) -> &Queue {
        &caches.queues.sandboxes
    }

    async fn reconcile(&self, key: &Key) -> Next {
        let context = &self.context;
        let Some(observed) = self.observe(key).await else {
            context.memory().sandboxes.forget(key);
            self.turning.forget(key);
            return context.tell_unreadable::<SandboxView>(key, Class::Sandbox).await;
        };
        let plan = plan(&observed, context.now());
        let outcome = apply(context, &observed, &plan).await;
        let memory = self.remember(&observed, &plan, &outcome);
        let Outcome::Done(met) = outcome else { return Next::Again };
        self.warn(&observed, &plan);
        // What was written is in the caches by now.
        let Some(after) = self.observe(key).await else { return Next::Settled };
        let troubles = [plan.troubles(), met.clone()].concat();
        for trouble in &troubles {
            spans::failed(&trouble.message);
        }
        let reported = self.report(&after, &troubles).await;
        if !troubles.is_empty() {
            self.forget_strays(&after.sandbox);
        }
        let look_again = plan.look_again.into_iter().chain(memory.setbacks.due()).min();
        match reported {
            Reported::Settled(due) if !is_worth_another_try(&plan, &met) => {
                context.next(look_again.into_iter().chain(due).min())
            }
            Reported::Settled(_) | Reported::Failed => Next::Retry,
        }
    }
}

/// What came of the status.
enum Reported {
    /// It says what it should, or will at that time.
    Settled(Option<Timestamp>),
    Failed,
}

impl Sandboxes {
    pub(crate) fn new(context: Arc<Context>) -> Self {
        let turning = Turning::new(&context.metrics);
        Self { context, turning }
    }

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

    fn remember(&self, observed: &Observed, plan: &Plan, outcome: &Outcome) -> Memory {
        let met = match outcome {
            Outcome::Done(met) => met.as_slice(),
            Outcome::Outdated => &[],
        };
        let memory = observed.memory.after(plan, met, self.context.now());
        self.context.memory().sandboxes.keep(&observed.sandbox.metadata, memory.clone());
        memory
    }

    /// What is in the way is looked for again the next time, where nobody tells that it is gone.
    fn forget_strays(&self, sandbox: &SandboxView) {
        self.context.caches.change(Urgency::Live, |world| {
            world.forget_strays(sandbox);
            Vec::new()
        });
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
}

/// Whether something went wrong just now that may go better by itself. What was held back is due when it is.
fn is_worth_another_try(plan: &Plan, met: &[Trouble]) -> bool {
    let classes = met.iter().map(|trouble| trouble.class).chain(plan.refusals().map(Refusal::class));
    classes.into_iter().any(TroubleClass::is_worth_another_try)
}
