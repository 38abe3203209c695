//! What a claim's users are told: its Sandbox's own conditions, or why there is none; the Sandbox's name, its addresses and
//! Ready in one write, since clients take what they find beside Ready.

use asb_types::conditions::{FINISHED, READY, claim_ready, finished, sandbox_ready};
use asb_types::phase::ClaimPhase;
use asb_types::v1beta1::{ClaimedSandbox, SandboxClaimStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;

use super::expiry::{self, Expiry};
use super::problem::Problem;
use super::{FirstReady, Observed, annotations, legacy_policy, measure, story};
use crate::conditions::{self, Verdict};
use crate::patch;
use crate::views::{ClaimView, SandboxView};
use crate::write::{Kind, Write};

/// How a claim stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    pub sandbox: Option<Box<SandboxView>>,
    pub problem: Option<Problem>,
    pub is_expired: bool,
}

impl Standing {
    /// Something is in the way, and there is no Sandbox.
    pub fn problem(problem: Problem) -> Self {
        Self { problem: Some(problem), ..Self::default() }
    }
}

/// What is to be written about a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    pub status: Option<Write>,
    /// What may wait until nobody waits for anything else.
    pub later: Vec<Write>,
    /// What is to be measured once the status is written: the claim becomes Ready by it for the first time.
    pub first_ready: Option<FirstReady>,
    pub look_again: Option<Timestamp>,
}

pub fn status(observed: &Observed<'_>, standing: &Standing, now: Timestamp) -> Told {
    let claim = observed.claim;
    let conditions = conditions(claim, standing, now);
    let (was_ready, is_ready) =
        (conditions::is_true(&claim.status.conditions, READY), conditions::is_true(&conditions, READY));
    let launch = match &standing.sandbox {
        Some(sandbox) => Some(story::tell(observed, sandbox, is_ready && !was_ready, now)),
        None => claim.status.launch.clone(),
    };
    let sandbox = standing.sandbox.as_deref().filter(|_| is_ready && !was_ready && measure::is_first(claim));
    let first_ready =
        sandbox.zip(launch.as_ref()).map(|(sandbox, launch)| FirstReady::of(observed, sandbox, launch));
    let stamps = annotations::stamp(observed, standing.sandbox.as_deref(), launch.as_ref(), is_ready, now);
    let expiry = match expiry::of(claim, &conditions, now) {
        Expiry::At(at) => Some(at),
        Expiry::Expired { .. } if !standing.is_expired => Some(now),
        Expiry::Expired { .. } | Expiry::Never => None,
    };
    let phase = Some(phase(standing, &conditions));
    let status = SandboxClaimStatus { phase, conditions, sandbox: claimed(claim, standing), launch };
    Told {
        status: write(claim, &status),
        later: stamps.write.into_iter().chain(legacy_policy(observed)).collect(),
        first_ready,
        look_again: stamps.look_again.into_iter().chain(expiry).min(),
    }
}

fn write(claim: &ClaimView, status: &SandboxClaimStatus) -> Option<Write> {
    let change = patch::difference(&json!(claim.status), &json!(status))?;
    let tells_of_another = !change["sandbox"]["name"].is_null();
    let write = Write::patch_status(Kind::SandboxClaim, &claim.metadata, json!({"status": change}));
    // Which Sandbox it is users are told once: whoever has not seen that another did does not get through.
    Some(if tells_of_another { write.locked(claim.metadata.version) } else { write })
}

fn conditions(claim: &ClaimView, standing: &Standing, now: Timestamp) -> Vec<Condition> {
    let generation = claim.metadata.generation;
    let mut list = claim.status.conditions.clone();
    match copied_ready(standing) {
        Some(ready) => copy(&mut list, ready, generation),
        // Whoever was told of a Sandbox need not hear that it cannot be seen for a moment.
        None if standing.problem == Some(Problem::CreatePending) && !claim.status.sandbox.name.is_empty() => {
        }
        None => conditions::set(&mut list, READY, own_ready(claim, standing), generation, now),
    }
    match &standing.sandbox {
        Some(sandbox) => match conditions::find(&sandbox.status.conditions, FINISHED) {
            Some(finished) => copy(&mut list, finished, generation),
            None => conditions::remove(&mut list, FINISHED),
        },
        None if !standing.is_expired => conditions::remove(&mut list, FINISHED),
        None => {}
    }
    list.sort_by(|one, other| one.type_.cmp(&other.type_));
    list
}

/// The Sandbox's own Ready, where nothing else is to be said.
fn copied_ready(standing: &Standing) -> Option<&Condition> {
    let sandbox = standing.sandbox.as_ref().filter(|_| standing.problem.is_none() && !standing.is_expired)?;
    conditions::find(&sandbox.status.conditions, READY).filter(|ready| ready.reason != sandbox_ready::EXPIRED)
}

fn own_ready(claim: &ClaimView, standing: &Standing) -> Verdict {
    let said = |reason, message: &str| Verdict::new(false, reason, message);
    match (&standing.problem, &standing.sandbox) {
        (Some(problem @ Problem::Failed(_)), _) if standing.is_expired => {
            said(claim_ready::EXPIRED, &format!("Claim expired. {}", problem.message()))
        }
        (Some(problem), _) => Verdict::new(false, problem.reason(), problem.message()),
        (None, _) if standing.is_expired => said(claim_ready::EXPIRED, expired_message(claim)),
        (None, None) => said(claim_ready::SANDBOX_MISSING, "Sandbox does not exist"),
        (None, Some(sandbox)) if conditions::find(&sandbox.status.conditions, READY).is_some() => said(
            claim_ready::SANDBOX_EXPIRED,
            "Underlying Sandbox resource has expired independently of the Claim.",
        ),
        (None, Some(_)) => said(claim_ready::SANDBOX_NOT_READY, "Sandbox is not ready"),
    }
}

/// What was said about an expiry stays said once there is no Sandbox to speak of: that one was left alone, say.
fn expired_message(claim: &ClaimView) -> &str {
    let told = expiry::told(claim).filter(|_| claim.status.sandbox.name.is_empty());
    told.map_or("Claim expired. Sandbox cleanup initiated.", |ready| ready.message.as_str())
}

/// Takes a condition over as it is, with the time of its transition; only what it was decided on is the claim's.
fn copy(list: &mut Vec<Condition>, condition: &Condition, generation: i64) {
    conditions::remove(list, &condition.type_);
    list.push(Condition { observed_generation: Some(generation), ..condition.clone() });
}

/// The Sandbox as users are to find it. While something is wrong, one they were told of stays told: it may still be there,
/// and that a claim has had one is remembered nowhere else.
fn claimed(claim: &ClaimView, standing: &Standing) -> ClaimedSandbox {
    let told = &claim.status.sandbox;
    match (&standing.sandbox, &standing.problem) {
        (Some(sandbox), _) => ClaimedSandbox {
            name: sandbox.metadata.name().to_owned(),
            pod_ips: sandbox.status.pod_ips.clone(),
        },
        (None, None | Some(Problem::NotOwned(_) | Problem::Departing(_))) => ClaimedSandbox::default(),
        (None, Some(Problem::Lost(name))) => ClaimedSandbox { name: name.clone(), pod_ips: Vec::new() },
        (None, Some(_)) => told.clone(),
    }
}

fn phase(standing: &Standing, conditions: &[Condition]) -> ClaimPhase {
    let ready = conditions::find(conditions, READY);
    let reason = ready.map_or("", |ready| ready.reason.as_str());
    let finished = conditions::find(conditions, FINISHED).map_or("", |finished| finished.reason.as_str());
    if standing.is_expired || reason == claim_ready::SANDBOX_EXPIRED {
        ClaimPhase::Expired
    } else if standing.problem.as_ref().is_some_and(Problem::is_permanent) || finished == finished::POD_FAILED
    {
        ClaimPhase::Failed
    } else if finished == finished::POD_SUCCEEDED {
        ClaimPhase::Succeeded
    } else if conditions::is_true(conditions, READY) {
        ClaimPhase::Running
    } else if reason == sandbox_ready::SUSPENDED {
        ClaimPhase::Suspended
    } else {
        ClaimPhase::Pending
    }
}
