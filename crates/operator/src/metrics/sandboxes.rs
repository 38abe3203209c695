//! What happens to Sandboxes: each turn of their lives, counted by whoever wrote it into their status.

use asb_core::census::{self, Holder};
use asb_core::sandbox::Turn;
use asb_core::views::SandboxView;
use asb_types::lifecycle::ShutdownPolicy;
use jiff::SignedDuration;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::{Histograms, milliseconds};

/// The template of a Sandbox that is of none.
pub(super) const NO_TEMPLATE: &str = "unknown";

/// Milliseconds that a Sandbox takes to come or to go.
pub(super) const BUCKETS: [f64; 14] = [
    50.0, 100.0, 250.0, 500.0, 1_000.0, 2_500.0, 5_000.0, 10_000.0, 30_000.0, 60_000.0, 120_000.0, 240_000.0,
    300_000.0, 600_000.0,
];

/// Whose Sandbox.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Whose {
    namespace: String,
    sandbox_template: String,
    owned_by: &'static str,
}

impl Whose {
    fn of(sandbox: &SandboxView) -> Self {
        let template = census::template(&sandbox.metadata);
        Self {
            namespace: sandbox.metadata.key.namespace.to_string(),
            sandbox_template: template.as_deref().unwrap_or(NO_TEMPLATE).to_owned(),
            owned_by: Holder::of(&sandbox.metadata).as_str(),
        }
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Progress {
    #[prometheus(flatten)]
    whose: Whose,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Ended {
    #[prometheus(flatten)]
    whose: Whose,
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Expired {
    #[prometheus(flatten)]
    whose: Whose,
    shutdown_policy: &'static str,
}

#[derive(Debug)]
pub(crate) struct Sandboxes {
    expired: Family<Expired, Counter>,
    finished: Family<Ended, Counter>,
    suspensions: Family<Progress, Counter>,
    suspending: Histograms<Whose>,
    resumptions: Family<Progress, Counter>,
    resuming: Histograms<Whose>,
}

impl Sandboxes {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let times = || Histograms::new_with_constructor(|| Histogram::new(BUCKETS));
        let sandboxes = Self {
            expired: Family::default(),
            finished: Family::default(),
            suspensions: Family::default(),
            suspending: times(),
            resumptions: Family::default(),
            resuming: times(),
        };
        let help = "Sandboxes whose time was over";
        registry.register("agent_sandbox_expired", help, sandboxes.expired.clone());
        let help = "Sandboxes whose Pod ended by itself";
        registry.register("agent_sandbox_finished", help, sandboxes.finished.clone());
        let help = "Suspensions of Sandboxes, by how far they came";
        registry.register("agent_sandbox_suspend", help, sandboxes.suspensions.clone());
        let help = "Milliseconds from the wish for a suspension until the Pod was gone";
        registry.register("agent_sandbox_suspend_latency_ms", help, sandboxes.suspending.clone());
        let help = "Resumptions of Sandboxes, by how far they came";
        registry.register("agent_sandbox_resume", help, sandboxes.resumptions.clone());
        let help = "Milliseconds from the wish for a resumption until the Sandbox was Ready";
        registry.register("agent_sandbox_resume_latency_ms", help, sandboxes.resuming.clone());
        sandboxes
    }

    pub(crate) fn turned(&self, sandbox: &SandboxView, turn: Turn) {
        let whose = Whose::of(sandbox);
        match turn {
            Turn::Expired => {
                let shutdown_policy = match sandbox.shutdown_policy {
                    ShutdownPolicy::Delete => "Delete",
                    ShutdownPolicy::Retain => "Retain",
                };
                self.expired.get_or_create(&Expired { whose, shutdown_policy }).inc();
            }
            Turn::Finished(reason) => drop(self.finished.get_or_create(&Ended { whose, reason }).inc()),
            Turn::SuspendRequested => step(&self.suspensions, whose, "requested"),
            Turn::SuspendFailed => step(&self.suspensions, whose, "error"),
            Turn::Suspended(took) => {
                time(&self.suspending, &whose, took);
                step(&self.suspensions, whose, "pod_terminated");
            }
            Turn::ResumeRequested => step(&self.resumptions, whose, "requested"),
            Turn::ResumeFailed => step(&self.resumptions, whose, "error"),
            Turn::Resumed(took) => {
                time(&self.resuming, &whose, took);
                step(&self.resumptions, whose, "ready");
            }
        }
    }
}

fn step(family: &Family<Progress, Counter>, whose: Whose, result: &'static str) {
    family.get_or_create(&Progress { whose, result }).inc();
}

fn time(family: &Histograms<Whose>, whose: &Whose, took: Option<SignedDuration>) {
    if let Some(took) = took {
        family.get_or_create(whose).observe(milliseconds(took));
    }
}
