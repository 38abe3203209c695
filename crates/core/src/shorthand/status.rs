//! The status of an object in a short spelling: that of the object it stands for, or why there is none.

use asb_types::conditions::{READY, shorthand_ready};
use asb_types::phase::ClaimPhase;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Counterpart, Observed, Outlook, Plan};
use crate::conditions::{self, Verdict};
use crate::patch;
use crate::report::{Failure, error_seen};
use crate::write::{Kind, Write};

/// The status write that is due after the plan was carried out, or failed.
pub fn status(
    observed: &Observed<'_>,
    plan: &Plan,
    failure: Option<&Failure>,
    now: Timestamp,
) -> Option<Write> {
    let status = match (failure, &plan.outlook) {
        (Some(failure), _) => told(observed, failed(failure), now),
        (None, Outlook::Gone | Outlook::Abandoned | Outlook::Changing) => return None,
        (None, Outlook::Refused(problem)) => {
            told(observed, Verdict::new(false, shorthand_ready::INVALID_CONFIGURATION, problem.clone()), now)
        }
        (None, Outlook::Taken(problem)) => {
            told(observed, Verdict::new(false, shorthand_ready::NAME_TAKEN, problem.clone()), now)
        }
        (None, Outlook::Following) => mirrored(observed, observed.counterpart.as_ref()?),
    };
    let change = patch::difference(&known(observed), &status)?;
    Some(Write::patch_status(observed.kind, observed.metadata, json!({"status": change})))
}

fn failed(failure: &Failure) -> Verdict {
    match failure {
        Failure::Transient(problem) => {
            Verdict::new(false, shorthand_ready::RECONCILER_ERROR, error_seen(problem))
        }
        Failure::Permanent(problem) => {
            Verdict::new(false, shorthand_ready::INVALID_CONFIGURATION, problem.clone())
        }
    }
}

/// What the other says. What it has seen of itself is what it has seen of the short one, which it is made to follow.
fn mirrored(observed: &Observed<'_>, counterpart: &Counterpart<'_>) -> Value {
    let (own, others) = (observed.metadata.generation, counterpart.metadata.generation);
    let mut status = if counterpart.status.is_null() { json!({}) } else { counterpart.status.clone() };
    let translate = |holder: &mut Value| {
        if let Some(seen) = holder["observedGeneration"].as_i64() {
            holder["observedGeneration"] = if seen == others { own } else { (own - 1).max(0) }.into();
        }
    };
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        translate(condition);
    }
    translate(&mut status);
    if status["conditions"].is_null() {
        status.as_object_mut().map(|status| status.remove("conditions"));
    }
    status["canonicalUID"] = counterpart.metadata.uid.as_str().into();
    status
}

/// What it said before, and that it is not Ready.
fn told(observed: &Observed<'_>, verdict: Verdict, now: Timestamp) -> Value {
    let (mut status, generation) = (known(observed), observed.metadata.generation);
    if observed.kind == Kind::ShorthandClaim && verdict.reason != shorthand_ready::RECONCILER_ERROR {
        status["phase"] = json!(ClaimPhase::Failed);
    }
    if observed.kind != Kind::ShorthandClaim {
        status["observedGeneration"] = generation.into();
    }
    let mut list = serde_json::from_value(status["conditions"].clone()).unwrap_or_default();
    conditions::set(&mut list, READY, verdict, generation, now);
    status["conditions"] = json!(list);
    status
}

fn known(observed: &Observed<'_>) -> Value {
    let known = observed.status.value();
    if known.is_object() { known } else { json!({}) }
}
