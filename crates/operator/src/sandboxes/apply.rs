//! Carries out the plan for one Sandbox. The parts stand for themselves: what goes wrong with one does not stop another.

use asb_core::report::Failure as Told;
use asb_core::sandbox::{Class as TroubleClass, Observed, Part, Plan, Trouble};
use asb_core::views::SandboxView;
use asb_core::write::Kind;

use crate::context::{Context, Stumble};
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
        match context.carry_out(&step.writes, class).await {
            Ok(()) => {}
            Err(Stumble::Outdated) => return Outcome::Outdated,
            Err(Stumble::Failed(told) | Stumble::Unanswered(_, told)) => met.push(trouble(part, told)),
        }
    }
    Outcome::Done(met)
}

/// The Pod's name is written after its Pod, and the Sandbox goes after everything else.
fn is_next<'a>(part: Part, mut troubles: impl Iterator<Item = &'a Trouble>) -> bool {
    match part {
        Part::PodName => !troubles.any(|trouble| trouble.part == Part::Pod),
        Part::Sandbox => troubles.next().is_none(),
        Part::Volumes | Part::Pod | Part::Service => true,
    }
}

/// A Sandbox that somebody has claimed goes before one that waits in a pool.
pub(super) fn class(sandbox: &SandboxView) -> Class {
    let is_pooled = sandbox.metadata.owner.as_ref().is_some_and(|owner| owner.is(Kind::SandboxWarmPool));
    if is_pooled { Class::Housekeeping } else { Class::Sandbox }
}

fn trouble(part: Part, told: Told) -> Trouble {
    match told {
        Told::Transient(problem) => Trouble::new(part, TroubleClass::Transient, problem),
        Told::Permanent(problem) => Trouble::new(part, TroubleClass::Invalid, problem),
    }
}
