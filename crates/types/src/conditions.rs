//! Condition types and the reasons that go with them, as clients and SDKs match on them.

use serde_json::json;

/// The one condition clients wait for, on Sandboxes and claims; also on templates and pools.
pub const READY: &str = "Ready";
/// On Sandboxes, always present: whether the Pod was taken away on request.
pub const SUSPENDED: &str = "Suspended";
/// On Sandboxes and claims, only once the Pod has ended by itself.
pub const FINISHED: &str = "Finished";
/// On Sandboxes: the Pod's own condition of that name.
pub const POD_SCHEDULED: &str = "PodScheduled";

/// Reasons of [`READY`] on a Sandbox. Claims copy them.
pub mod sandbox_ready {
    pub const DEPENDENCIES_READY: &str = "DependenciesReady";
    pub const DEPENDENCIES_NOT_READY: &str = "DependenciesNotReady";
    pub const RECONCILER_ERROR: &str = "ReconcilerError";
    pub const MULTIPLE_PODS: &str = "MultiplePods";
    pub const SUSPENDED: &str = "SandboxSuspended";
    pub const EXPIRED: &str = "SandboxExpired";
    /// The API server refuses what the Sandbox asks for; trying again does not help.
    pub const INVALID_CONFIGURATION: &str = "InvalidConfiguration";
    /// Another Sandbox of the namespace is served that has a name of the same hash, by which Services select.
    pub const NAME_HASH_COLLISION: &str = "NameHashCollision";
    /// The Pod should long be gone.
    pub const POD_STUCK_TERMINATING: &str = "PodStuckTerminating";
}

/// Reasons of [`FINISHED`], and of [`READY`] on a Sandbox whose Pod has ended.
pub mod finished {
    pub const POD_SUCCEEDED: &str = "PodSucceeded";
    pub const POD_FAILED: &str = "PodFailed";
}

/// Reasons of [`SUSPENDED`].
pub mod suspended {
    pub const NOT_SUSPENDED: &str = "NotSuspended";
    pub const POD_STATE_UNKNOWN: &str = "PodStateUnknown";
    pub const POD_TERMINATED: &str = "PodTerminated";
    pub const POD_TERMINATING: &str = "PodTerminating";
    pub const POD_NOT_OWNED: &str = "PodNotOwned";
    /// Known to clients, written by none.
    pub const POD_NOT_TERMINATED: &str = "PodNotTerminated";
}

/// Reasons of [`POD_SCHEDULED`] where the Pod gives none.
pub mod pod_scheduled {
    pub const SCHEDULED: &str = "PodScheduled";
    pub const UNKNOWN: &str = "PodSchedulingUnknown";
}

/// Reasons of [`READY`] on a claim, besides those copied from its Sandbox.
pub mod claim_ready {
    pub const TEMPLATE_NOT_FOUND: &str = "TemplateNotFound";
    pub const WARM_POOL_NOT_FOUND: &str = "WarmPoolNotFound";
    pub const ADOPTION_CONFLICT: &str = "AdoptionConflict";
    pub const SANDBOX_CREATE_PENDING: &str = "SandboxCreatePending";
    pub const INVALID_METADATA: &str = "InvalidMetadata";
    pub const ENV_VARS_INJECTION_REJECTED: &str = "EnvVarsInjectionRejected";
    pub const VOLUME_CLAIM_TEMPLATES_ERROR: &str = "VolumeClaimTemplatesError";
    pub const RECONCILER_ERROR: &str = "ReconcilerError";
    pub const EXPIRED: &str = "ClaimExpired";
    pub const SANDBOX_MISSING: &str = "SandboxMissing";
    pub const SANDBOX_NOT_READY: &str = "SandboxNotReady";
    pub const SANDBOX_EXPIRED: &str = "SandboxExpired";
    /// A Sandbox of the pool is under way, and the claim waits for it.
    pub const ADOPTION_PENDING: &str = "AdoptionPending";
    /// The claim had a Sandbox and somebody else deleted it.
    pub const SANDBOX_LOST: &str = "SandboxLost";
    pub const INVALID_CONFIGURATION: &str = "InvalidConfiguration";
}

/// Reasons of [`READY`] on a template.
pub mod template_ready {
    pub const NETWORK_POLICY_READY: &str = "NetworkPolicyReady";
    pub const NETWORK_POLICY_UNMANAGED: &str = "NetworkPolicyUnmanaged";
    /// The one that is there is on its way out.
    pub const NETWORK_POLICY_TERMINATING: &str = "NetworkPolicyTerminating";
    /// One of that name is there and not the template's.
    pub const NETWORK_POLICY_NOT_OWNED: &str = "NetworkPolicyNotOwned";
    pub const NAME_HASH_COLLISION: &str = "NameHashCollision";
    pub const INVALID_CONFIGURATION: &str = "InvalidConfiguration";
    pub const RECONCILER_ERROR: &str = "ReconcilerError";
}

/// On pools: whether what is missing is on its way.
pub const PROGRESSING: &str = "Progressing";

/// Reasons of [`READY`] on a pool.
pub mod pool_ready {
    pub const FULL: &str = "Full";
    pub const FILLING: &str = "Filling";
    pub const TEMPLATE_NOT_FOUND: &str = "TemplateNotFound";
    /// The template is there and not fit for use; its own status says why.
    pub const TEMPLATE_NOT_READY: &str = "TemplateNotReady";
    pub const NAME_HASH_COLLISION: &str = "NameHashCollision";
    pub const INVALID_CONFIGURATION: &str = "InvalidConfiguration";
    pub const RECONCILER_ERROR: &str = "ReconcilerError";
}

/// Reasons of [`PROGRESSING`], and of the events when it changes.
pub mod pool_progressing {
    pub const PROGRESSING: &str = "WarmPoolProgressing";
    pub const NOT_PROGRESSING: &str = "WarmPoolNotProgressing";
}

/// Reasons of [`READY`] on an object in a short spelling, besides those copied from the object that it stands for.
pub mod shorthand_ready {
    /// The name is taken by an object that was not made for this one.
    pub const NAME_TAKEN: &str = "NameTaken";
    pub const INVALID_CONFIGURATION: &str = "InvalidConfiguration";
    pub const RECONCILER_ERROR: &str = "ReconcilerError";
}

/// The schema of a `status.conditions` list: the standard Condition, in a plain list that patches replace whole.
pub(crate) fn conditions_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    const TYPE_PATTERN: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
    schemars::json_schema!({
        "type": "array",
        "items": json!({
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": {"type": "string", "format": "date-time",
                    "description": "When the status last changed."},
                "message": {"type": "string", "maxLength": 32768, "description": "The reason, for people."},
                "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0,
                    "description": "The metadata.generation this was decided on."},
                "reason": {"type": "string", "minLength": 1, "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", "description": "The reason, for programs."},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"],
                    "description": "Whether the condition holds."},
                "type": {"type": "string", "maxLength": 316, "pattern": TYPE_PATTERN, "description": "What is said to hold."},
            },
        }),
    })
}
