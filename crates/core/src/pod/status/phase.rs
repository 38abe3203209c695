//! The phase of a Pod. It never goes back.

use k8s_openapi::api::core::v1::PodSpec;

use crate::pod::lifecycle::Sight;
use crate::pod::member::{Role, members};
use crate::pod::observed::{Attempt, Cause, Ending, Observed};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed,
}

impl Phase {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Running, Self::Succeeded, Self::Failed];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }

    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }

    fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str() == text)
    }
}

/// An end is told once nothing runs any more.
pub(super) fn phase(spec: &PodSpec, sight: Sight<'_>) -> Phase {
    let told = sight.pod.status.as_ref().and_then(|status| Phase::read(status.phase.as_deref()?));
    if let Some(told) = told.filter(|phase| phase.is_terminal()) {
        return told;
    }
    let ended = sight.observed.ending.as_ref().filter(|_| !sight.observed.is_live());
    let phase = match ended {
        Some(ending) => end(spec, sight.observed, ending),
        None if has_run(spec, sight.observed) => Phase::Running,
        None => Phase::Pending,
    };
    phase.max(told.unwrap_or(Phase::Pending))
}

fn end(spec: &PodSpec, observed: &Observed, ending: &Ending) -> Phase {
    let succeeded = |attempt: &Attempt| attempt.exit().is_some_and(|exit| exit.code == 0);
    let all_succeeded =
        spec.containers.iter().all(|container| observed.attempt(&container.name).is_some_and(succeeded));
    match ending.cause {
        Cause::Completed | Cause::Deleted if all_succeeded => Phase::Succeeded,
        _ => Phase::Failed,
    }
}

/// Whether every container has run, or runs: those that are to be restarted too.
fn has_run(spec: &PodSpec, observed: &Observed) -> bool {
    let ran = |attempt: &Attempt| attempt.is_running() || attempt.exit().is_some() || attempt.number > 0;
    let mut main = members(spec).into_iter().filter(|member| member.role == Role::Main);
    main.all(|member| observed.attempt(member.name()).is_some_and(ran))
}
