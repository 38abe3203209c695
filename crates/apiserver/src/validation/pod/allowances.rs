//! What a pod may stay because it was so before the rules became stricter.

use serde_json::Value;

use super::super::at::{At, examine};
use super::super::labels::Values;
use super::{annotations, containers, projections, resources, scheduling, security, spread};

/// Nothing is allowed to a new pod.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a rule of its own that may have been broken before"
)]
pub(super) struct Allowances {
    pub(super) indivisible_huge_pages: bool,
    pub(super) values_in_pod_affinity: Values,
    pub(super) values_in_node_affinity: Values,
    pub(super) any_spread_selector: bool,
    pub(super) old_spread_keys: bool,
    pub(super) token_paths_that_leave: bool,
    pub(super) sysctls_of_the_host: bool,
    pub(super) devices_with_user_namespaces: bool,
    pub(super) restarts_of_init_containers: bool,
    pub(super) any_deletion_cost: bool,
    pub(super) any_selinux_policy: bool,
}

impl Default for Allowances {
    fn default() -> Self {
        Self {
            indivisible_huge_pages: false,
            values_in_pod_affinity: Values::AsLabels,
            values_in_node_affinity: Values::AsLabels,
            any_spread_selector: false,
            old_spread_keys: false,
            token_paths_that_leave: false,
            sysctls_of_the_host: false,
            devices_with_user_namespaces: false,
            restarts_of_init_containers: false,
            any_deletion_cost: false,
            any_selinux_policy: false,
        }
    }
}

impl Allowances {
    /// What the pod that is replaced was.
    pub(super) fn of(old: &Value) -> Self {
        let strict = Self::default();
        let breaks = |rules: &dyn Fn(&At)| !examine(&old["spec"], |spec| rules(spec)).is_empty();
        let values = |broken: bool| if broken { Values::Anything } else { Values::AsLabels };
        let in_affinity = |part: &str| {
            let errors = examine(&old["spec"], |spec| scheduling::affinity(&spec.field("affinity"), &strict));
            errors.iter().any(|error| error.field.contains(part) && error.field.contains(".values["))
        };
        Self {
            indivisible_huge_pages: breaks(&|spec| {
                containers::visit(spec, resources::huge_pages_are_divisible);
            }),
            values_in_pod_affinity: values(in_affinity("affinity.pod")),
            values_in_node_affinity: values(in_affinity("nodeAffinity.required")),
            any_spread_selector: breaks(&spread::selectors),
            old_spread_keys: breaks(&spread::keys),
            token_paths_that_leave: breaks(&projections::token_paths),
            sysctls_of_the_host: breaks(&security::sysctls_of_the_host),
            devices_with_user_namespaces: breaks(&|spec| super::user_namespaces(spec, &strict)),
            restarts_of_init_containers: breaks(&containers::no_restarts_of_init_containers),
            any_deletion_cost: annotations::has_bad_deletion_cost(&old["metadata"]["annotations"]),
            any_selinux_policy: old["spec"]["securityContext"].get("seLinuxChangePolicy").is_some(),
        }
    }
}
