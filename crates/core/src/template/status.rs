//! The status of a template: whether the network of its Pods is as it says.

use asb_types::conditions::{READY, template_ready};
use asb_types::names;
use asb_types::v1beta1::SandboxTemplateStatus;
use jiff::Timestamp;
use serde_json::json;

use super::{Observed, Outlook, Plan};
use crate::conditions::{self, Verdict};
use crate::patch;
use crate::report::{Failure, error_seen};
use crate::write::{Kind, Write};

/// The status write that is due after the plan was carried out, or failed.
pub fn status(
    observed: &Observed<'_>,
    plan: &Plan,
    failure: Option<&Failure>,
    now: Timestamp,
) -> Option<Write> {
    let template = observed.template;
    let generation = template.metadata.generation;
    let verdict = match failure {
        Some(failure) => failed(failure),
        None => verdict(template.metadata.name(), &plan.verdict)?,
    };
    let mut status = SandboxTemplateStatus { observed_generation: generation, ..template.status.clone() };
    conditions::set(&mut status.conditions, READY, verdict, generation, now);
    let change = patch::difference(&json!(template.status), &json!(status))?;
    Some(Write::patch_status(Kind::SandboxTemplate, &template.metadata, json!({"status": change})))
}

fn failed(failure: &Failure) -> Verdict {
    match failure {
        Failure::Transient(problem) => {
            Verdict::new(false, template_ready::RECONCILER_ERROR, error_seen(problem))
        }
        Failure::Permanent(problem) => {
            Verdict::new(false, template_ready::INVALID_CONFIGURATION, problem.clone())
        }
    }
}

fn verdict(template: &str, outlook: &Outlook) -> Option<Verdict> {
    let policy = names::network_policy(template);
    Some(match outlook {
        Outlook::Gone => return None,
        Outlook::Managed => Verdict::new(
            true,
            template_ready::NETWORK_POLICY_READY,
            format!("NetworkPolicy {policy:?} holds for its Pods"),
        ),
        Outlook::Unmanaged => Verdict::new(
            true,
            template_ready::NETWORK_POLICY_UNMANAGED,
            "The network of its Pods is left to others",
        ),
        Outlook::PolicyTerminating => Verdict::new(
            false,
            template_ready::NETWORK_POLICY_TERMINATING,
            format!("NetworkPolicy {policy:?} is being deleted; another follows"),
        ),
        Outlook::PolicyNotOurs(owner) => Verdict::new(
            false,
            template_ready::NETWORK_POLICY_NOT_OWNED,
            format!(
                "refusing to update NetworkPolicy {policy:?}: it is controlled by {owner}, not by this template"
            ),
        ),
        Outlook::Collides(message) => {
            Verdict::new(false, template_ready::NAME_HASH_COLLISION, message.clone())
        }
    })
}
