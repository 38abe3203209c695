//! How the objects that belong together are named. Names are derived, never stored twice.

use crate::hash::fnv1a_hex;
use crate::labels;

/// Pools of this name mean "no pool, just this template": how a v1alpha1 claim by template reads in v1beta1.
const SHADOW_POOL_PREFIX: &str = "shadow-pool-";

/// The Pod of a Sandbox, unless an adopted one is named in the `pod-name` annotation.
pub fn pod(sandbox: &str) -> String {
    sandbox.to_owned()
}

/// The headless Service of a Sandbox.
pub fn service(sandbox: &str) -> String {
    sandbox.to_owned()
}

/// The name under which cluster DNS answers for a Service.
pub fn service_fqdn(service: &str, namespace: &str, cluster_domain: &str) -> String {
    format!("{service}.{namespace}.svc.{cluster_domain}")
}

/// The PersistentVolumeClaim that a Sandbox makes of one of its volumeClaimTemplates.
pub fn volume_claim(template: &str, sandbox: &str) -> String {
    format!("{template}-{sandbox}")
}

/// The Sandbox that a claim starts when it adopts none.
pub fn cold_sandbox(claim: &str) -> String {
    claim.to_owned()
}

/// The `generateName` of a pool's members.
pub fn pooled_sandbox_prefix(pool: &str) -> String {
    format!("{pool}-")
}

/// A member of a pool, told apart by a few characters. Cut as Kubernetes cuts generated names, so that the Service of
/// the same name is still a DNS label.
pub fn pooled_sandbox(pool: &str, suffix: &str) -> String {
    const LONGEST: usize = 63;
    let prefix = pooled_sandbox_prefix(pool);
    let room = LONGEST.saturating_sub(suffix.len());
    format!("{}{suffix}", prefix.get(..room).unwrap_or(&prefix))
}

const NETWORK_POLICY_SUFFIX: &str = "-network-policy";

/// The NetworkPolicy that a template manages.
pub fn network_policy(template: &str) -> String {
    format!("{template}{NETWORK_POLICY_SUFFIX}")
}

/// The template that manages the NetworkPolicy of this name, if it is there.
pub fn template_of_network_policy(policy: &str) -> Option<&str> {
    policy.strip_suffix(NETWORK_POLICY_SUFFIX)
}

/// The NetworkPolicy that old operators made for each claim; only ever cleaned up.
pub fn legacy_claim_network_policy(claim: &str) -> String {
    format!("{claim}{NETWORK_POLICY_SUFFIX}")
}

/// The pool that stands for "no pool, just this template".
pub fn shadow_pool(template: &str) -> String {
    format!("{SHADOW_POOL_PREFIX}{template}")
}

/// The template behind a shadow pool's name, if it is one.
pub fn shadowed_template(pool: &str) -> Option<&str> {
    pool.strip_prefix(SHADOW_POOL_PREFIX).filter(|template| !template.is_empty())
}

/// The selector in a Sandbox's status, and in text form the one of its Service.
pub fn sandbox_selector(sandbox: &str) -> String {
    format!("{}={}", labels::SANDBOX_NAME_HASH, fnv1a_hex(sandbox))
}

/// The selector in a pool's status, which autoscalers read through the scale subresource.
pub fn pool_selector(pool: &str) -> String {
    format!("{}={}", labels::WARM_POOL, fnv1a_hex(pool))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_bear_the_name_of_their_sandbox() {
        assert_eq!(pod("demo"), "demo");
        assert_eq!(service("demo"), "demo");
        assert_eq!(volume_claim("work", "demo"), "work-demo");
        assert_eq!(service_fqdn("demo", "team", "cluster.local"), "demo.team.svc.cluster.local");
    }

    #[test]
    fn a_member_of_a_pool_has_a_name_that_a_service_can_have() {
        assert_eq!(pooled_sandbox("python", "x2z4b"), "python-x2z4b");
        let long = pooled_sandbox(&"p".repeat(80), "x2z4b");
        assert_eq!((long.len(), long.ends_with("px2z4b")), (63, true));
    }

    #[test]
    fn selectors_are_label_and_hash() {
        assert_eq!(sandbox_selector("my-sandbox"), "agents.x-k8s.io/sandbox-name-hash=374de8f5");
        assert_eq!(pool_selector("my-pool"), "agents.x-k8s.io/warm-pool-sandbox=244dc158");
    }

    #[test]
    fn a_shadow_pool_names_its_template() {
        assert_eq!(shadowed_template(&shadow_pool("python")), Some("python"));
        assert_eq!(shadowed_template("python"), None);
        assert_eq!(shadowed_template("shadow-pool-"), None);
    }
}
