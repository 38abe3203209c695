//! Decides what one SandboxTemplate needs: its label, and the NetworkPolicy for all Pods that are made of it. The Pods
//! themselves are left to pools and claims.

mod policy;
mod status;

use asb_types::hash::fnv1a_hex;
use asb_types::labels;
use asb_types::names;
use asb_types::network::NetworkPolicyManagement;
use serde_json::json;

use crate::object::{Metadata, Ownership};
use crate::views::{NetworkPolicyView, TemplateView};
use crate::write::{Deleting, Kind, Write};

pub use status::status;

/// What is known about a template at one moment.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    pub template: &'a TemplateView,
    /// The NetworkPolicy under the name that the template's bears, whosever it is.
    pub policy: Option<&'a NetworkPolicyView>,
    /// Why the template is not served, if another has the hash of its name: see [`collision`](crate::collision).
    pub collision: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub writes: Vec<Write>,
    pub verdict: Outlook,
}

/// How the template stands once the writes are done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// It is being deleted; nothing is to be said.
    Gone,
    Managed,
    Unmanaged,
    /// The policy that is there is being deleted; another follows when it is gone.
    PolicyTerminating,
    /// The policy of that name is somebody else's.
    PolicyNotOurs(String),
    /// Another template has the hash of this one's name, and is served.
    Collides(String),
}

/// Total and deterministic.
pub fn plan(observed: &Observed<'_>) -> Plan {
    let template = observed.template;
    if template.metadata.is_deleting() {
        return Plan { writes: Vec::new(), verdict: Outlook::Gone };
    }
    let mut writes: Vec<_> = label(&template.metadata).into_iter().collect();
    let verdict = match observed.collision {
        Some(collision) => {
            // Its policy would open the Pods of the elder.
            writes.extend(withdraw(observed));
            Outlook::Collides(collision.to_owned())
        }
        None if template.network_policy_management == NetworkPolicyManagement::Unmanaged => {
            writes.extend(withdraw(observed));
            Outlook::Unmanaged
        }
        None => manage(observed, &mut writes),
    };
    Plan { writes, verdict }
}

/// Why no Pod is to be made from the template now: it would be without the NetworkPolicy that the template asks for.
pub fn exposure(template: &TemplateView, policy: Option<&NetworkPolicyView>) -> Option<String> {
    let mut writes = Vec::new();
    let observed = Observed { template, policy, collision: None };
    let is_safe = template.network_policy_management == NetworkPolicyManagement::Unmanaged
        || (manage(&observed, &mut writes) == Outlook::Managed && writes.is_empty());
    let name = names::network_policy(template.metadata.name());
    (!is_safe).then(|| format!("NetworkPolicy {name:?} is not as it asks; its condition Ready says why"))
}

fn label(metadata: &Metadata) -> Option<Write> {
    let hash = fnv1a_hex(metadata.name());
    let is_there = metadata.label(labels::TEMPLATE_REF_HASH) == Some(&hash);
    let body = json!({"metadata": {"labels": {labels::TEMPLATE_REF_HASH: hash}}});
    (!is_there).then(|| Write::patch(Kind::SandboxTemplate, metadata, body))
}

fn withdraw(observed: &Observed<'_>) -> Option<Write> {
    let policy = observed.policy.filter(|policy| {
        policy.metadata.is_owned_by(&observed.template.metadata.uid) && !policy.metadata.is_deleting()
    })?;
    Some(Write::delete(Kind::NetworkPolicy, &policy.metadata, Deleting::Background))
}

fn manage(observed: &Observed<'_>, writes: &mut Vec<Write>) -> Outlook {
    let template = observed.template;
    let Some(existing) = observed.policy else {
        writes.push(policy::create(template));
        return Outlook::Managed;
    };
    match existing.metadata.ownership(&template.metadata.uid) {
        Ownership::Ours if existing.metadata.is_deleting() => Outlook::PolicyTerminating,
        Ownership::Ours => {
            writes.extend(policy::correct(template, existing));
            Outlook::Managed
        }
        Ownership::Nobodys => Outlook::PolicyNotOurs("nobody".to_owned()),
        Ownership::Anothers(owner) => Outlook::PolicyNotOurs(format!("{} {:?}", owner.kind, owner.name)),
    }
}

#[cfg(test)]
mod tests;
