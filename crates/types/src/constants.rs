//! Every name that clients, dashboards and other implementations match on, spelled out once more: a change to one is a
//! break, and must be made twice to pass.

use crate::{annotations, conditions, labels, names};

#[test]
fn labels_are_what_clients_select_by() {
    let keys = [
        labels::SANDBOX_NAME_HASH,
        labels::WARM_POOL,
        labels::TEMPLATE_REF_HASH,
        labels::TEMPLATE_HASH,
        labels::POD_TEMPLATE_HASH,
        labels::LAUNCH_TYPE,
        labels::CREATED_BY,
        labels::CLAIM_UID,
        labels::ADOPTABLE,
        labels::LEGACY_SANDBOX_NAME,
    ];
    let values = [
        labels::LAUNCH_WARM,
        labels::LAUNCH_COLD,
        labels::ADOPTABLE_TRUE,
        labels::CREATED_BY_CONTROLLER,
        labels::CREATED_BY_GO_CLIENT,
        labels::CREATED_BY_PYTHON_CLIENT,
        labels::CREATED_BY_UNKNOWN,
    ];
    insta::assert_snapshot!([&keys[..], &values[..]].concat().join("\n"));
}

#[test]
fn annotations_are_what_clients_read() {
    use annotations::{v1alpha1_state, v1beta1_state};
    let keys = [
        annotations::SANDBOX_NAME,
        annotations::POD_NAME,
        annotations::TEMPLATE_REF,
        annotations::PROPAGATED_LABELS,
        annotations::PROPAGATED_ANNOTATIONS,
        annotations::CONTROLLER_FIRST_OBSERVED_AT,
        annotations::CLAIM_FIRST_READY_AT,
        annotations::FIRST_READY_UNKNOWN,
        annotations::CLIENT_FIRST_REQUESTED_AT,
        annotations::WEBHOOK_FIRST_OBSERVED_AT,
        annotations::CREATION_LATENCY_RECORDED,
        annotations::TRACE_CONTEXT,
        annotations::SAFE_TO_EVICT,
        annotations::MIGRATION_SHADOW,
        annotations::MIGRATION_SOURCE_TEMPLATE,
        annotations::STORAGE_MIGRATED_AT,
        v1alpha1_state::SANDBOX,
        v1alpha1_state::CLAIM,
        v1alpha1_state::TEMPLATE,
        v1alpha1_state::POOL,
        v1beta1_state::SANDBOX,
        v1beta1_state::CLAIM,
        v1beta1_state::POOL,
        v1beta1_state::TEMPLATE_VOLUME_CLAIM_TEMPLATES_POLICY,
    ];
    insta::assert_snapshot!(keys.join("\n"));
}

#[test]
fn conditions_and_reasons_are_what_sdks_match_on() {
    use conditions::{claim_ready, finished, pod_scheduled, sandbox_ready, suspended};
    let types = [conditions::READY, conditions::SUSPENDED, conditions::FINISHED, conditions::POD_SCHEDULED];
    let of_sandboxes = [
        sandbox_ready::DEPENDENCIES_READY,
        sandbox_ready::DEPENDENCIES_NOT_READY,
        sandbox_ready::RECONCILER_ERROR,
        sandbox_ready::MULTIPLE_PODS,
        sandbox_ready::SUSPENDED,
        sandbox_ready::EXPIRED,
        sandbox_ready::INVALID_CONFIGURATION,
        sandbox_ready::NAME_HASH_COLLISION,
        sandbox_ready::POD_STUCK_TERMINATING,
        finished::POD_SUCCEEDED,
        finished::POD_FAILED,
        suspended::NOT_SUSPENDED,
        suspended::POD_STATE_UNKNOWN,
        suspended::POD_TERMINATED,
        suspended::POD_TERMINATING,
        suspended::POD_NOT_OWNED,
        suspended::POD_NOT_TERMINATED,
        pod_scheduled::SCHEDULED,
        pod_scheduled::UNKNOWN,
    ];
    let of_claims = [
        claim_ready::TEMPLATE_NOT_FOUND,
        claim_ready::WARM_POOL_NOT_FOUND,
        claim_ready::ADOPTION_CONFLICT,
        claim_ready::SANDBOX_CREATE_PENDING,
        claim_ready::INVALID_METADATA,
        claim_ready::ENV_VARS_INJECTION_REJECTED,
        claim_ready::VOLUME_CLAIM_TEMPLATES_ERROR,
        claim_ready::RECONCILER_ERROR,
        claim_ready::EXPIRED,
        claim_ready::SANDBOX_MISSING,
        claim_ready::SANDBOX_NOT_READY,
        claim_ready::SANDBOX_EXPIRED,
        claim_ready::ADOPTION_PENDING,
        claim_ready::SANDBOX_LOST,
        claim_ready::INVALID_CONFIGURATION,
    ];
    insta::assert_snapshot!([&types[..], &of_sandboxes[..], &of_claims[..]].concat().join("\n"));
}

#[test]
fn reasons_of_templates_and_pools_are_what_dashboards_match_on() {
    use conditions::{pool_progressing, pool_ready, shorthand_ready, template_ready};
    let names = [
        conditions::PROGRESSING,
        template_ready::NETWORK_POLICY_READY,
        template_ready::NETWORK_POLICY_UNMANAGED,
        template_ready::NETWORK_POLICY_TERMINATING,
        template_ready::NETWORK_POLICY_NOT_OWNED,
        template_ready::NAME_HASH_COLLISION,
        template_ready::INVALID_CONFIGURATION,
        template_ready::RECONCILER_ERROR,
        pool_ready::FULL,
        pool_ready::FILLING,
        pool_ready::TEMPLATE_NOT_FOUND,
        pool_ready::TEMPLATE_NOT_READY,
        pool_ready::NAME_HASH_COLLISION,
        pool_ready::INVALID_CONFIGURATION,
        pool_ready::RECONCILER_ERROR,
        shorthand_ready::NAME_TAKEN,
        shorthand_ready::INVALID_CONFIGURATION,
        shorthand_ready::RECONCILER_ERROR,
        pool_progressing::PROGRESSING,
        pool_progressing::NOT_PROGRESSING,
    ];
    insta::assert_snapshot!(names.join("\n"));
}

#[test]
fn names_are_derived_as_other_implementations_derive_them() {
    let derived = [
        names::pod("s"),
        names::service("s"),
        names::volume_claim("v", "s"),
        names::cold_sandbox("c"),
        names::pooled_sandbox_prefix("p"),
        names::network_policy("t"),
        names::legacy_claim_network_policy("c"),
        names::shadow_pool("t"),
    ];
    insta::assert_snapshot!(derived.join("\n"));
}
