//! The containers of a Pod with the part each plays, in the order in which they start.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};

use super::observed::{Attempt, Hook, Observed, StopCause};
use super::probe::{ProbeKind, Verdict};
use super::resources::is_sidecar;

#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    pub container: &'a Container,
    pub role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Runs to its end before those after it start.
    Init,
    /// Starts among the init containers and runs on.
    Sidecar,
    Main,
}

/// Init containers and sidecars in their order, then the others.
pub fn members(spec: &PodSpec) -> Vec<Member<'_>> {
    let role = |container| if is_sidecar(container) { Role::Sidecar } else { Role::Init };
    let init =
        spec.init_containers.iter().flatten().map(|container| Member { container, role: role(container) });
    init.chain(spec.containers.iter().map(|container| Member { container, role: Role::Main })).collect()
}

impl Member<'_> {
    pub fn name(&self) -> &str {
        &self.container.name
    }

    /// Whether it is started: running, its hook done, and its startup probe passed.
    pub fn has_started(&self, attempt: &Attempt) -> bool {
        let hooked = !self.has_post_start() || attempt.post_start == Hook::Done;
        attempt.is_running() && hooked && self.has_passed_startup(attempt)
    }

    pub fn has_passed_startup(&self, attempt: &Attempt) -> bool {
        self.container.startup_probe.is_none() || attempt.verdict(ProbeKind::Startup) == Verdict::Passing
    }

    /// Whether it has started, and its readiness probe, if it has one, has passed.
    pub fn is_ready(&self, attempt: &Attempt) -> bool {
        let probed = self.container.readiness_probe.is_some();
        self.has_started(attempt) && (!probed || attempt.verdict(ProbeKind::Readiness) == Verdict::Passing)
    }

    pub fn has_post_start(&self) -> bool {
        self.container.lifecycle.as_ref().is_some_and(|lifecycle| lifecycle.post_start.is_some())
    }

    pub fn has_pre_stop(&self) -> bool {
        self.container.lifecycle.as_ref().is_some_and(|lifecycle| lifecycle.pre_stop.is_some())
    }

    /// Whether those after it may start: done in this sandbox, or started in it.
    pub fn lets_pass(&self, observed: &Observed, sandbox: u32) -> bool {
        let attempt = observed.attempt(self.name()).filter(|attempt| attempt.sandbox == sandbox);
        match self.role {
            Role::Init => attempt.and_then(Attempt::exit).is_some_and(|exit| exit.code == 0),
            Role::Sidecar => attempt.is_some_and(|attempt| self.has_started(attempt)),
            Role::Main => true,
        }
    }

    /// Whether an attempt that has ended is followed by another.
    pub fn restarts(&self, spec: &PodSpec, attempt: &Attempt) -> bool {
        let Some(exit) = attempt.exit() else { return false };
        let probed = attempt
            .stop
            .as_ref()
            .is_some_and(|stop| matches!(stop.cause, StopCause::Liveness | StopCause::Startup));
        if self.role == Role::Init && exit.code == 0 {
            false
        } else if probed {
            self.survives_probes(spec)
        } else {
            self.rule(exit.code) || by_policy(self.policy(spec), exit.code)
        }
    }

    /// Whether a container that is stopped for a probe that failed is started again.
    pub fn survives_probes(&self, spec: &PodSpec) -> bool {
        self.policy(spec) != "Never"
    }

    /// The container's own policy, else the Pod's.
    fn policy<'s>(&'s self, spec: &'s PodSpec) -> &'s str {
        let own = self.container.restart_policy.as_deref();
        own.or(spec.restart_policy.as_deref()).unwrap_or("Always")
    }

    /// Whether a rule of the container's has it restarted.
    fn rule(&self, code: i32) -> bool {
        let rules = self.container.restart_policy_rules.iter().flatten();
        let matching = rules.filter_map(|rule| rule.exit_codes.as_ref().map(|codes| (rule, codes)));
        let mut matching = matching.filter(|(_, codes)| {
            let listed = codes.values.iter().flatten().any(|listed| *listed == code);
            if codes.operator == "NotIn" { !listed } else { listed }
        });
        self.container.restart_policy.is_some()
            && matching.next().is_some_and(|(rule, _)| rule.action == "Restart")
    }
}

fn by_policy(policy: &str, code: i32) -> bool {
    match policy {
        "Never" => false,
        "OnFailure" => code != 0,
        _ => true,
    }
}

/// Whether containers proper have run in a sandbox, so that its initialization is over for good.
pub fn is_initialized(spec: &PodSpec, observed: &Observed, sandbox: u32) -> bool {
    let in_it = |attempt: &Attempt| attempt.sandbox == sandbox;
    spec.containers.iter().any(|container| observed.attempt(&container.name).is_some_and(in_it))
}

/// The moment from which a Pod's deadline counts.
pub fn started(pod: &Pod) -> Option<Timestamp> {
    pod.status.as_ref()?.start_time.as_ref().map(|time| time.0)
}
