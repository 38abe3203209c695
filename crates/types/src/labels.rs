//! Label keys and their values, and which keys belong to the system rather than to users.

use crate::{EXTENSIONS_GROUP, GROUP};

/// On Pods, Services and PersistentVolumeClaims: the hash of the Sandbox's name. Services select by it.
pub const SANDBOX_NAME_HASH: &str = "agents.x-k8s.io/sandbox-name-hash";
/// On pooled Sandboxes and their Pods: the hash of the pool's name. Removed when a claim adopts the Sandbox.
pub const WARM_POOL: &str = "agents.x-k8s.io/warm-pool-sandbox";
/// On templates, Sandboxes and Pods: the hash of the template's name. The template's NetworkPolicy selects by it.
pub const TEMPLATE_REF_HASH: &str = "agents.x-k8s.io/sandbox-template-ref-hash";
/// On pooled Sandboxes: the hash of the blueprint they were made from. Removed at adoption.
pub const TEMPLATE_HASH: &str = "agents.x-k8s.io/sandbox-template-hash";
/// On pooled Sandboxes: the hash of the podTemplate alone. Written for outside consumers, read by none of ours.
pub const POD_TEMPLATE_HASH: &str = "agents.x-k8s.io/sandbox-pod-template-hash";
/// On Sandboxes: how the claim got it, [`LAUNCH_WARM`] or [`LAUNCH_COLD`].
pub const LAUNCH_TYPE: &str = "agents.x-k8s.io/launch-type";
/// From the claim to the Sandbox and its Pod: which client asked for it.
pub const CREATED_BY: &str = "agents.x-k8s.io/created-by";
/// On Sandboxes: the UID of the claim they serve.
pub const CLAIM_UID: &str = "agents.x-k8s.io/claim-uid";
/// On foreign Pods, Services and PersistentVolumeClaims: [`ADOPTABLE_TRUE`] lets a Sandbox take the object over.
pub const ADOPTABLE: &str = "agents.x-k8s.io/adoptable";
/// On claims, long ago: the assigned Sandbox. Now the annotation of the same key; still read.
pub const LEGACY_SANDBOX_NAME: &str = "agents.x-k8s.io/sandbox-name";

pub const LAUNCH_WARM: &str = "warm";
pub const LAUNCH_COLD: &str = "cold";
pub const ADOPTABLE_TRUE: &str = "true";

pub const CREATED_BY_CONTROLLER: &str = "controller";
pub const CREATED_BY_GO_CLIENT: &str = "go-client";
pub const CREATED_BY_PYTHON_CLIENT: &str = "python-client";
pub const CREATED_BY_UNKNOWN: &str = "unknown";

/// System keys are ours to write: they are never taken from a user's podTemplate onto a Pod.
pub fn is_system_label(key: &str) -> bool {
    key.split_once('/').is_some_and(|(prefix, _)| prefix == GROUP || prefix == EXTENSIONS_GROUP)
}

/// The value of [`CREATED_BY`] that Pods and metrics bear: free text from clients would make label values and
/// metric series unbounded.
pub fn normalized_created_by(value: &str) -> &'static str {
    match value {
        CREATED_BY_CONTROLLER => CREATED_BY_CONTROLLER,
        CREATED_BY_GO_CLIENT => CREATED_BY_GO_CLIENT,
        CREATED_BY_PYTHON_CLIENT => CREATED_BY_PYTHON_CLIENT,
        _ => CREATED_BY_UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_groups_are_system_prefixes_and_their_look_alikes_are_not() {
        assert!(is_system_label(SANDBOX_NAME_HASH));
        assert!(is_system_label("extensions.agents.x-k8s.io/anything"));
        assert!(!is_system_label("team.agents.x-k8s.io/anything"));
        assert!(!is_system_label("agents.x-k8s.io.example.com/anything"));
        assert!(!is_system_label("agents.x-k8s.io"));
    }

    #[test]
    fn clients_we_do_not_know_are_counted_together() {
        assert_eq!(normalized_created_by("python-client"), "python-client");
        assert_eq!(normalized_created_by("my-fork"), "unknown");
        assert_eq!(normalized_created_by(""), "unknown");
    }
}
