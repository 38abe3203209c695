//! The defaults that make a Sandbox of a template safer than a Pod would be by itself. A Sandbox without a template gets
//! none of them.

use asb_types::network::NetworkPolicyManagement;
use serde_json::{Value, json};

use crate::views::TemplateView;

/// Resolvers outside the cluster: the default NetworkPolicy lets nothing reach the cluster's own.
const PUBLIC_RESOLVERS: [&str; 2] = ["8.8.8.8", "1.1.1.1"];

/// The Pod spec of a template, with the defaults where it says nothing.
pub(super) fn pod_spec(template: &TemplateView) -> Value {
    let mut spec = template.pod.spec.value();
    if !spec.is_object() {
        return spec;
    }
    if spec["automountServiceAccountToken"].is_null() {
        spec["automountServiceAccountToken"] = false.into();
    }
    if has_default_network(template) && spec["dnsPolicy"].as_str().unwrap_or_default().is_empty() {
        spec["dnsPolicy"] = "None".into();
        spec["dnsConfig"] = json!({"nameservers": PUBLIC_RESOLVERS});
    }
    spec
}

fn has_default_network(template: &TemplateView) -> bool {
    template.network_policy_management == NetworkPolicyManagement::Managed
        && template.network_policy.value().is_null()
}
