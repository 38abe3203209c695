//! How claims come to their Sandboxes, by which way and how fast: each claim once, whoever looks after it.

use std::sync::Arc;

use asb_core::census::Launching;
use asb_core::claim::{FirstReady, Launched, Start, has_no_story};
use asb_core::views::ClaimView;
use asb_types::labels::{CREATED_BY, normalized_created_by};
use jiff::{SignedDuration, Timestamp};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::sandboxes::BUCKETS as CREATION_BUCKETS;
use super::{Histograms, milliseconds};

/// The template of a Sandbox that does not say of which it is.
const NO_TEMPLATE: &str = "__unknown__";

/// Milliseconds until a claim is Ready.
const STARTUP_BUCKETS: [f64; 15] = [
    100.0, 250.0, 500.0, 750.0, 1_000.0, 1_250.0, 1_500.0, 2_000.0, 2_500.0, 5_000.0, 10_000.0, 30_000.0,
    60_000.0, 120_000.0, 240_000.0,
];

/// Seconds that a step of a claim takes.
const STEP_BUCKETS: [f64; 17] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Startup {
    launch_type: &'static str,
    sandbox_template: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Creation {
    namespace: String,
    launch_type: &'static str,
    sandbox_template: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct HandedOver {
    namespace: String,
    sandbox_template: String,
    launch_type: &'static str,
    warmpool_name: String,
    pod_condition: &'static str,
    created_by: &'static str,
}

/// There are few of these, whatever users do: no label has a name of theirs.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Stage {
    step: &'static str,
    launch_type: &'static str,
    reason: &'static str,
}

#[derive(Debug)]
pub(crate) struct Claims {
    since_admitted: Histograms<Startup>,
    since_observed: Histograms<Startup>,
    since_requested: Histograms<Startup>,
    creations: Histograms<Creation>,
    launches: Family<HandedOver, Counter>,
    steps: Histograms<Stage>,
}

impl Claims {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let startups = || Histograms::new_with_constructor(|| Histogram::new(STARTUP_BUCKETS));
        let claims = Self {
            since_admitted: startups(),
            since_observed: startups(),
            since_requested: startups(),
            creations: Histograms::new_with_constructor(|| Histogram::new(CREATION_BUCKETS)),
            launches: Family::default(),
            steps: Histograms::new_with_constructor(|| Histogram::new(STEP_BUCKETS)),
        };
        let help = "Milliseconds from when an admission webhook saw a claim until it was first Ready";
        registry.register("agent_sandbox_claim_startup_latency_ms", help, claims.since_admitted.clone());
        let help = "Milliseconds from when the operator saw a claim until it was first Ready";
        let name = "agent_sandbox_claim_controller_startup_latency_ms";
        registry.register(name, help, claims.since_observed.clone());
        let help = "Milliseconds from when its user asked for a claim until it was first Ready";
        let name = "agent_sandbox_client_claim_startup_latency_ms";
        registry.register(name, help, claims.since_requested.clone());
        let help = "Milliseconds that the Sandbox of a claim took to become Ready, whoever had it made";
        registry.register("agent_sandbox_creation_latency_ms", help, claims.creations.clone());
        let help = "Sandboxes that were handed over to or made for claims";
        registry.register("agent_sandbox_claim_creation", help, claims.launches.clone());
        let help =
            "Seconds that each step of a claim took: until it was bound, and from then until it was Ready";
        registry.register("agent_sandbox_claim_step_seconds", help, claims.steps.clone());
        claims
    }

    /// A claim has got a Sandbox.
    pub(crate) fn launched(&self, claim: &ClaimView, launched: &Launched, first_observed: Timestamp) {
        let (start, metadata) = (launched.start, &claim.metadata);
        let pool = match start.launching() {
            Launching::Warm => &*launched.pool,
            Launching::Cold => claim.request.pool(),
        };
        let labels = HandedOver {
            namespace: metadata.key.namespace.to_string(),
            sandbox_template: template(launched.template.as_ref()),
            launch_type: start.launching().as_str(),
            warmpool_name: pool.to_owned(),
            pod_condition: if start == Start::WarmReady { "ready" } else { "not_ready" },
            created_by: normalized_created_by(metadata.label(CREATED_BY).unwrap_or_default()),
        };
        self.launches.get_or_create(&labels).inc();
        // A claim that lost its Sandbox or came back to life was first seen long before.
        if has_no_story(claim) {
            let took = launched.at.duration_since(first_observed);
            self.step("bound", start.launching(), start.reason(), took);
        }
    }

    /// A claim has become Ready for the first time.
    pub(crate) fn first_ready(&self, namespace: &str, first: &FirstReady, now: Timestamp) {
        let startup = Startup {
            launch_type: first.launching.as_str(),
            sandbox_template: template(first.template.as_ref()),
        };
        let moments = [
            (&self.since_admitted, first.admitted),
            (&self.since_observed, Some(first.observed)),
            (&self.since_requested, first.requested),
        ];
        for (family, moment) in moments {
            let took = moment.map(|moment| now.duration_since(moment));
            // Clocks differ: what was before it began is left out.
            if let Some(took) = took.filter(|took| !took.is_negative()) {
                family.get_or_create(&startup).observe(milliseconds(took));
            }
        }
        if let Some(took) = first.creation {
            let Startup { launch_type, sandbox_template } = startup;
            let creation = Creation { namespace: namespace.to_owned(), launch_type, sandbox_template };
            self.creations.get_or_create(&creation).observe(milliseconds(took));
        }
        if let Some((reason, bound)) = first.bound {
            self.step("ready", first.launching, reason, now.duration_since(bound));
        }
    }

    fn step(&self, step: &'static str, launching: Launching, reason: &'static str, took: SignedDuration) {
        if !took.is_negative() {
            let labels = Stage { step, launch_type: launching.as_str(), reason };
            self.steps.get_or_create(&labels).observe(took.as_secs_f64());
        }
    }
}

fn template(name: Option<&Arc<str>>) -> String {
    name.map_or(NO_TEMPLATE, |name| name).to_owned()
}
