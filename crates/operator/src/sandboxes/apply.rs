//! Carries out the plan for one Sandbox. The parts stand for themselves: what goes wrong with one does not stop another.

use asb_core::report::Failure as Told;
use asb_core::sandbox::{Class as TroubleClass, Observed, Part, Plan, Step, Trouble};
use asb_core::views::SandboxView;
use asb_core::write::{Kind, Write};
use tracing::{Instrument, Span};

use crate::context::{Context, Stumble};
use crate::spans;
use crate::traffic::Class;

/// What came of a plan.
pub(super) enum Outcome {
    /// It was carried out, but for what went wrong, the plan's own refusals aside.
    Done(Vec<Trouble>),
    /// Something was not as it seemed; there has to be a new plan.
    Outdated,
}

pub(super) async fn apply(context: &Context, observed: &Observed, plan: &Plan) -> Outcome {
    let class = class(&observed.sandbox);
    let (own, mut met) = (plan.troubles(), Vec::new());
    for (part, step) in plan.steps() {
        if !is_next(part, own.iter().chain(&met)) {
            continue;
        }
        let span = spans::part(part, !step.writes.is_empty());
        match carry_out(context, observed, part, step, class).instrument(span).await {
            Ok(()) => {}
            Err(Stumble::Outdated) => return Outcome::Outdated,
            Err(Stumble::Failed(told) | Stumble::Unanswered(_, told)) => met.push(trouble(part, told)),
        }
    }
    Outcome::Done(met)
}

async fn carry_out(
    context: &Context,
    observed: &Observed,
    part: Part,
    step: &Step,
    class: Class,
) -> Result<(), Stumble> {
    if part == Part::Pod {
        observed.pods.iter().for_each(|pod| spans::existing_pod(pod));
    }
    let outcome = context.carry_out(&step.writes, class).await;
    if part == Part::Pod && outcome.is_ok() && !Span::current().is_disabled() {
        tell_new_pods(context, &step.writes);
    }
    outcome
}

fn tell_new_pods(context: &Context, writes: &[Write]) {
    for write in writes {
        if let Write::Create { target, .. } = write
            && let Some(pod) = context.caches.read(|world| world.pods.get(&target.key).cloned())
        {
            spans::new_pod(&pod);
        }
    }
}

/// The Pod's name is written after its Pod, and the Sandbox goes after everything else.
fn is_next<'a>(part: Part, mut troubles: impl Iterator<Item = &'a Trouble>) -> bool {
    match part {
        Part::PodName => !troubles.any(|trouble| trouble.part == Part::Pod),
        Part::Sandbox => troubles.next().is_none(),
        Part::Volumes | Part::Pod | Part::Service => true,
    }
}

/// Somebody may wait for a Sandbox that is not Ready. One that waits in a pool, or is Ready, can wait for its labels.
pub(super) fn class(sandbox: &SandboxView) -> Class {
    let is_pooled = sandbox.metadata.owner.as_ref().is_some_and(|owner| owner.is(Kind::SandboxWarmPool));
    if is_pooled || sandbox.is_ready() { Class::Housekeeping } else { Class::Sandbox }
}

fn trouble(part: Part, told: Told) -> Trouble {
    match told {
        Told::Transient(problem) => Trouble::new(part, TroubleClass::Transient, problem),
        Told::Permanent(problem) => Trouble::new(part, TroubleClass::Invalid, problem),
    }
}
