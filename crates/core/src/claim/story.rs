//! How a claim got its Sandbox and how long that took, for `status.launch`.

use std::sync::Arc;

use asb_types::labels;
use asb_types::launch::{ClaimLaunch, LaunchType};
use jiff::Timestamp;

use super::{Observed, binding, sync};
use crate::allocation::Cold;
use crate::census::{self, Launching};
use crate::views::{ClaimView, Request, SandboxView, TemplateView};

/// What was done to get a claim its Sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    pub start: Start,
    /// The pool that was asked, or gave.
    pub pool: Arc<str>,
    /// The template that the Sandbox is of, if it says so.
    pub template: Option<Arc<str>>,
    pub at: Timestamp,
}

/// Warm or cold, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    WarmReady,
    WarmStarting,
    ColdByBook(Cold),
    /// A Pod that runs already cannot be given variables.
    ColdForEnv,
    /// Nor volumes.
    ColdForVolumes,
}

impl Start {
    /// Why the claim starts cold whatever the pools hold, if it does.
    pub(super) fn forced(claim: &ClaimView) -> Option<Self> {
        if matches!(claim.request, Request::Fresh { .. }) {
            return Some(Self::ColdByBook(Cold::Asked));
        }
        let why = if claim.env.is_empty() { Self::ColdForVolumes } else { Self::ColdForEnv };
        claim.needs_fresh_sandbox().then_some(why)
    }

    pub(super) fn is_cold(self) -> bool {
        self.launching() == Launching::Cold
    }

    pub fn launching(self) -> Launching {
        if matches!(self, Self::WarmReady | Self::WarmStarting) { Launching::Warm } else { Launching::Cold }
    }

    /// The reason of that name, if there is one.
    pub(super) fn reason_named(name: &str) -> Option<&'static str> {
        Self::ALL.into_iter().map(Self::reason).find(|reason| *reason == name)
    }

    const ALL: [Self; 10] = [
        Self::WarmReady,
        Self::WarmStarting,
        Self::ColdForEnv,
        Self::ColdForVolumes,
        Self::ColdByBook(Cold::Asked),
        Self::ColdByBook(Cold::NoPool),
        Self::ColdByBook(Cold::PoolOff),
        Self::ColdByBook(Cold::Empty),
        Self::ColdByBook(Cold::NothingSoon),
        Self::ColdByBook(Cold::Waited),
    ];

    pub fn reason(self) -> &'static str {
        match self {
            Self::WarmReady => "WarmSandboxReady",
            Self::WarmStarting => "WarmSandboxStarting",
            Self::ColdForEnv => "ClaimHasEnv",
            Self::ColdForVolumes => "ClaimHasVolumes",
            Self::ColdByBook(Cold::Asked) => "FreshSandboxRequested",
            Self::ColdByBook(Cold::NoPool) => "NoWarmPool",
            Self::ColdByBook(Cold::PoolOff) => "WarmPoolSizeZero",
            Self::ColdByBook(Cold::Empty) => "WarmPoolEmpty",
            Self::ColdByBook(Cold::NothingSoon) => "WarmPoolExhausted",
            Self::ColdByBook(Cold::Waited) => "WaitedInVain",
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::WarmReady => "A Sandbox of the pool was Ready",
            Self::WarmStarting => "A Sandbox of the pool was running and not Ready yet",
            Self::ColdForEnv => {
                "The claim sets environment variables, which a running Sandbox cannot be given"
            }
            Self::ColdForVolumes => "The claim brings volumes, which a running Sandbox cannot be given",
            Self::ColdByBook(Cold::Asked) => "The claim asks for a fresh Sandbox",
            Self::ColdByBook(Cold::NoPool) => "There is no pool to take a Sandbox from",
            Self::ColdByBook(Cold::PoolOff) => "The pool is to have no Sandboxes",
            Self::ColdByBook(Cold::Empty) => "The pool had no Sandbox left, and none on its way",
            Self::ColdByBook(Cold::NothingSoon) => {
                "The pool had no Sandbox left, and none on its way that would have been Ready sooner"
            }
            Self::ColdByBook(Cold::Waited) => "No Sandbox of the pool became Ready in time",
        }
    }
}

impl From<Cold> for Start {
    fn from(why: Cold) -> Self {
        Self::ColdByBook(why)
    }
}

/// Who launched it did not live to tell why.
const UNKNOWN: &str = "Unknown";

impl Launched {
    pub(super) fn warm(member: &SandboxView, at: Timestamp) -> Self {
        let start = if member.is_ready() { Start::WarmReady } else { Start::WarmStarting };
        let pool = member.metadata.owner.as_ref().map_or_else(|| "".into(), |owner| Arc::clone(&owner.name));
        Self { start, pool, template: census::template(&member.metadata), at }
    }

    pub(super) fn cold(start: Start, claim: &ClaimView, template: &TemplateView, at: Timestamp) -> Self {
        let pool = match &claim.request {
            Request::Pool(pool) => pool.as_str().into(),
            Request::Template { .. } | Request::Fresh { .. } => "".into(),
        };
        Self { start, pool, template: Some(template.metadata.name().into()), at }
    }
}

/// The story with the Sandbox that the claim has now.
pub(super) fn tell(
    observed: &Observed<'_>,
    sandbox: &SandboxView,
    becomes_ready: bool,
    now: Timestamp,
) -> ClaimLaunch {
    let claim = observed.claim;
    let is_told = binding::assigned_name(claim) == sandbox.metadata.name();
    let told = claim.status.launch.as_ref().filter(|launch| is_told && launch.r#type.is_some());
    let mut launch = match (told, observed.launched) {
        (Some(told), _) => told.clone(),
        (None, Some(launched)) => begin(observed, launched),
        // Others had told of the Sandbox before we came, and when is not known.
        (None, None) if is_told => reconstruct(observed, sandbox),
        (None, None) => ClaimLaunch { bound_at: time(now), ..reconstruct(observed, sandbox) },
    };
    if becomes_ready && launch.ready_at.is_empty() {
        launch.ready_at = time(now);
    }
    launch
}

fn begin(observed: &Observed<'_>, launched: &Launched) -> ClaimLaunch {
    ClaimLaunch {
        r#type: Some(type_(launched.start.launching())),
        reason: launched.start.reason().to_owned(),
        message: launched.start.message().to_owned(),
        pool: launched.pool.to_string(),
        observed_at: time(observed.first_observed),
        bound_at: time(launched.at),
        ready_at: String::new(),
    }
}

fn reconstruct(observed: &Observed<'_>, sandbox: &SandboxView) -> ClaimLaunch {
    ClaimLaunch {
        r#type: Some(type_of(observed.claim, sandbox)),
        reason: UNKNOWN.to_owned(),
        observed_at: time(observed.first_observed),
        ..ClaimLaunch::default()
    }
}

fn type_of(claim: &ClaimView, sandbox: &SandboxView) -> LaunchType {
    let label =
        sandbox.metadata.label(labels::LAUNCH_TYPE).unwrap_or_else(|| sync::launch_type(claim, sandbox));
    type_(if label == labels::LAUNCH_WARM { Launching::Warm } else { Launching::Cold })
}

fn type_(launching: Launching) -> LaunchType {
    match launching {
        Launching::Warm => LaunchType::Warm,
        Launching::Cold => LaunchType::Cold,
    }
}

fn time(at: Timestamp) -> String {
    format!("{at:.6}")
}
