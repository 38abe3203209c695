//! Annotation keys, and which of them belong to the system rather than to users.

use crate::labels::is_system_label;

/// On claims: the name of the assigned Sandbox.
pub const SANDBOX_NAME: &str = "agents.x-k8s.io/sandbox-name";
/// On Sandboxes: the name of the Pod behind them.
pub const POD_NAME: &str = "agents.x-k8s.io/pod-name";
/// On Sandboxes: the name of the template they were made from.
pub const TEMPLATE_REF: &str = "agents.x-k8s.io/sandbox-template-ref";
/// On Pods: the label keys copied from the podTemplate, sorted and joined by commas, so that they can be pruned.
pub const PROPAGATED_LABELS: &str = "agents.x-k8s.io/propagated-labels";
/// On Pods: the annotation keys copied from the podTemplate, sorted and joined by commas.
pub const PROPAGATED_ANNOTATIONS: &str = "agents.x-k8s.io/propagated-annotations";
/// On claims: when the operator first saw it, RFC 3339 with nanoseconds.
pub const CONTROLLER_FIRST_OBSERVED_AT: &str = "agents.x-k8s.io/controller-first-observed-at";
/// On claims: when it first became Ready, RFC 3339 with nanoseconds, or [`FIRST_READY_UNKNOWN`].
pub const CLAIM_FIRST_READY_AT: &str = "agents.x-k8s.io/claim-first-ready-at";
/// On claims, set by SDKs: when the user asked.
pub const CLIENT_FIRST_REQUESTED_AT: &str = "agents.x-k8s.io/client-first-requested-at";
/// On claims, set by an admission webhook: when the API server first saw it.
pub const WEBHOOK_FIRST_OBSERVED_AT: &str = "agents.x-k8s.io/webhook-first-observed-at";
/// Reserved; nothing writes it.
pub const CREATION_LATENCY_RECORDED: &str = "agents.x-k8s.io/creation-latency-recorded";
/// On claims and Sandboxes: a JSON object of W3C trace headers.
pub const TRACE_CONTEXT: &str = "opentelemetry.io/trace-context";
/// On pooled Pods: whether the cluster autoscaler may evict them.
pub const SAFE_TO_EVICT: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";
/// On pools made by a migration tool to stand for "no pool, this template".
pub const MIGRATION_SHADOW: &str = "agents.x-k8s.io/migration-shadow";
/// On such pools: the template they stand for.
pub const MIGRATION_SOURCE_TEMPLATE: &str = "agents.x-k8s.io/migration-source-template";
/// On any object: when its stored form was last rewritten.
pub const STORAGE_MIGRATED_AT: &str = "agents.x-k8s.io/storage-migrated-at";

/// On our CustomResourceDefinitions: which edition it is, see [`crate::crd::REVISION`].
pub const DEFINITION_REVISION: &str = "agents.x-k8s.io/definition-revision";
/// On our CustomResourceDefinitions: `false` keeps `asb up` from updating it.
pub const AUTO_UPDATE: &str = "agents.x-k8s.io/autoupdate";
/// On our CustomResourceDefinitions, set by `asb up`: the hash of what it wrote and of what it was given to write.
pub const DEFINITION_SEAL: &str = "agents.x-k8s.io/definition-seal";

/// Value of [`CLAIM_FIRST_READY_AT`] where the moment was missed.
pub const FIRST_READY_UNKNOWN: &str = "unknown";

/// What v1alpha1 said and v1beta1 has no field for, per kind: a partial v1alpha1 object as JSON.
pub mod v1alpha1_state {
    pub const SANDBOX: &str = "api.agents.x-k8s.io/v1alpha1-sandbox-state";
    pub const CLAIM: &str = "api.agents.x-k8s.io/v1alpha1-sandboxclaim-state";
    pub const TEMPLATE: &str = "api.agents.x-k8s.io/v1alpha1-sandboxtemplate-state";
    pub const POOL: &str = "api.agents.x-k8s.io/v1alpha1-sandboxwarmpool-state";
}

/// What v1beta1 says and v1alpha1 has no field for, per kind: a partial v1beta1 object as JSON.
pub mod v1beta1_state {
    pub const SANDBOX: &str = "api.agents.x-k8s.io/v1beta1-sandbox-state";
    pub const CLAIM: &str = "api.agents.x-k8s.io/v1beta1-sandboxclaim-state";
    pub const POOL: &str = "api.agents.x-k8s.io/v1beta1-sandboxwarmpool-state";
    /// Templates have one such field, which travels as plain text.
    pub const TEMPLATE_VOLUME_CLAIM_TEMPLATES_POLICY: &str =
        "api.agents.x-k8s.io/v1beta1-volume-claim-templates-policy";
}

/// System keys are ours to write: they are never taken from a user's podTemplate onto a Pod.
pub fn is_system_annotation(key: &str) -> bool {
    key == TRACE_CONTEXT || is_system_label(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trace_context_is_a_system_annotation_and_safe_to_evict_is_not() {
        assert!(is_system_annotation(TRACE_CONTEXT));
        assert!(is_system_annotation(POD_NAME));
        assert!(!is_system_annotation(SAFE_TO_EVICT));
    }
}
