//! Why a claim has no Ready Sandbox, other than its Sandbox's own reasons, and what its users are told about it.

use asb_types::conditions::claim_ready;

use crate::report::{Failure, error_seen};
use crate::write::Kind;

/// What is in a claim's way. Users find the reason in the condition Ready.
///
/// SDKs give up at once on some reasons and wait out all others, so a mistake that only the user can correct must have
/// one of the former. Where upstream says `ReconcilerError` to such a mistake and tries for ever, we use the nearest reason
/// that every SDK knows: `InvalidMetadata` for a conflict of metadata, `EnvVarsInjectionRejected` for a container that is
/// not there or a variable that may not be overridden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    TemplateMissing(String),
    PoolMissing(String),
    /// Somebody else got, or changed, what was to be the claim's; what it was.
    Contention(String),
    /// The Sandbox was made and cannot be seen yet.
    CreatePending,
    /// The Sandbox of this name has to go before there can be another.
    Departing(String),
    /// A Sandbox made now would not be kept apart as its template asks.
    Exposed(String),
    /// A Sandbox of the pool is under way.
    Waiting,
    InvalidMetadata(String),
    EnvRejected(String),
    Volumes(String),
    /// A mistake of the user's, of no other kind.
    Invalid(String),
    /// The claim has expired, and what bears the name of its Sandbox is somebody else's.
    NotOwned(String),
    /// Somebody else's Sandbox bears the name that the claim's would have.
    NameTaken(String),
    /// The claim's Sandbox, of this name, is gone.
    Lost(String),
    /// Something failed while a plan was carried out.
    Failed(Failure),
}

impl Problem {
    pub fn template_missing(name: &str) -> Self {
        Self::TemplateMissing(not_found(Kind::SandboxTemplate, name))
    }

    pub fn pool_missing(name: &str) -> Self {
        Self::PoolMissing(not_found(Kind::SandboxWarmPool, name))
    }

    pub(super) fn unreadable(kind: Kind, name: &str, problem: &str) -> Self {
        Self::Invalid(format!("{} {name:?} cannot be read: {problem}", kind.name()))
    }

    pub(super) fn exposed(template: &str, why: &str) -> Self {
        Self::Exposed(format!("{} {template:?} cannot be used: {why}", Kind::SandboxTemplate.name()))
    }

    pub(super) fn not_owned(sandbox: &str, claim: &str) -> Self {
        Self::NotOwned(format!("sandbox {sandbox:?} is not controlled by claim {claim:?}"))
    }

    pub(super) fn name_taken(sandbox: &str, claim: &str) -> Self {
        Self::NameTaken(format!(
            "sandbox {sandbox:?} is not controlled by claim {claim:?}. Please use a different claim name or delete the sandbox manually"
        ))
    }

    /// The same, met while metadata was to be passed on to a Sandbox that is there.
    pub(super) fn while_propagating(self) -> Self {
        let context = |what: String| format!("failed to get template for metadata propagation: {what}");
        match self {
            Self::TemplateMissing(what) => Self::TemplateMissing(context(what)),
            Self::PoolMissing(what) => Self::PoolMissing(context(what)),
            other => other,
        }
    }

    pub fn reason(&self) -> &'static str {
        match self {
            Self::TemplateMissing(_) => claim_ready::TEMPLATE_NOT_FOUND,
            Self::PoolMissing(_) => claim_ready::WARM_POOL_NOT_FOUND,
            Self::Contention(_) => claim_ready::ADOPTION_CONFLICT,
            Self::CreatePending | Self::Departing(_) | Self::Exposed(_) => {
                claim_ready::SANDBOX_CREATE_PENDING
            }
            Self::Waiting => claim_ready::ADOPTION_PENDING,
            Self::InvalidMetadata(_) => claim_ready::INVALID_METADATA,
            Self::EnvRejected(_) => claim_ready::ENV_VARS_INJECTION_REJECTED,
            Self::Volumes(_) => claim_ready::VOLUME_CLAIM_TEMPLATES_ERROR,
            Self::Invalid(_) | Self::Failed(Failure::Permanent(_)) => claim_ready::INVALID_CONFIGURATION,
            Self::NotOwned(_) => claim_ready::EXPIRED,
            Self::NameTaken(_) | Self::Failed(Failure::Transient(_)) => claim_ready::RECONCILER_ERROR,
            Self::Lost(_) => claim_ready::SANDBOX_LOST,
        }
    }

    pub fn message(&self) -> String {
        match self {
            Self::TemplateMissing(what)
            | Self::PoolMissing(what)
            | Self::InvalidMetadata(what)
            | Self::EnvRejected(what)
            | Self::Volumes(what)
            | Self::Invalid(what)
            | Self::Exposed(what)
            | Self::Failed(Failure::Permanent(what)) => what.clone(),
            Self::Contention(what) => format!("{what}; the next pass retries from a converged view"),
            Self::CreatePending => "Sandbox already created; waiting for cache to converge".to_owned(),
            Self::Departing(name) => format!("Sandbox {name:?} is being deleted; another one follows"),
            Self::Waiting => "Waiting for a Sandbox of the warm pool that is being started".to_owned(),
            Self::NotOwned(what) => format!("Claim expired. {what}; deletion skipped."),
            Self::NameTaken(what) | Self::Failed(Failure::Transient(what)) => error_seen(what),
            Self::Lost(name) => format!(
                "Sandbox {name:?} was deleted, and with it what it held. Delete the claim, or set spec.lostSandboxPolicy to Replace for a new Sandbox."
            ),
        }
    }

    /// Whether only a change of the claim, or of what it refers to, can help. Such a problem is not tried again by itself.
    pub fn is_permanent(&self) -> bool {
        matches!(
            self,
            Self::InvalidMetadata(_)
                | Self::EnvRejected(_)
                | Self::Volumes(_)
                | Self::Invalid(_)
                | Self::NotOwned(_)
                | Self::Lost(_)
                | Self::Failed(Failure::Permanent(_))
        )
    }
}

fn not_found(kind: Kind, name: &str) -> String {
    format!("{} {name:?} not found", kind.name())
}
