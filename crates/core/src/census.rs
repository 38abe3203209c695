//! What Sandboxes are counted by, for metrics.

use std::sync::Arc;

use asb_types::annotations::TEMPLATE_REF;
use asb_types::conditions::{FINISHED, READY, finished, sandbox_ready};
use asb_types::labels::{CREATED_BY, LAUNCH_TYPE, LAUNCH_WARM, normalized_created_by};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::conditions;
use crate::object::{Key, Metadata};
use crate::write::Kind;

/// Who controls a Sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holder {
    Claim,
    Pool,
    Nobody,
}

impl Holder {
    pub fn of(sandbox: &Metadata) -> Self {
        match &sandbox.owner {
            Some(owner) if owner.is(Kind::SandboxClaim) => Self::Claim,
            Some(owner) if owner.is(Kind::SandboxWarmPool) => Self::Pool,
            _ => Self::Nobody,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claim => Kind::SandboxClaim.name(),
            Self::Pool => Kind::SandboxWarmPool.name(),
            Self::Nobody => "None",
        }
    }
}

/// How a Sandbox came to whom it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Launching {
    Warm,
    Cold,
}

impl Launching {
    /// What is not known to be warm counts as cold.
    pub fn of(sandbox: &Metadata) -> Self {
        if sandbox.label(LAUNCH_TYPE) == Some(LAUNCH_WARM) { Self::Warm } else { Self::Cold }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Cold => "cold",
        }
    }
}

/// The template that a Sandbox was made from, if it says so.
pub fn template(sandbox: &Metadata) -> Option<Arc<str>> {
    sandbox.annotation(TEMPLATE_REF).map(Into::into)
}

/// Everything by which Sandboxes are told apart in a count of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Category {
    pub namespace: Arc<str>,
    pub template: Option<Arc<str>>,
    pub holder: Holder,
    pub launching: Launching,
    pub created_by: &'static str,
    pub is_ready: bool,
    pub is_expired: bool,
}

impl Category {
    pub fn of(sandbox: &Metadata, conditions: &[Condition]) -> Self {
        let ready = conditions::find(conditions, READY);
        Self {
            namespace: Arc::clone(&sandbox.key.namespace),
            template: template(sandbox),
            holder: Holder::of(sandbox),
            launching: Launching::of(sandbox),
            created_by: normalized_created_by(sandbox.label(CREATED_BY).unwrap_or_default()),
            is_ready: ready.is_some_and(|ready| ready.status == "True"),
            is_expired: ready.is_some_and(|ready| ready.reason == sandbox_ready::EXPIRED),
        }
    }
}

/// How a member of a pool is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fitness {
    Ready,
    Pending,
    Succeeded,
    Failed,
}

impl Fitness {
    fn of(conditions: &[Condition]) -> Self {
        let end = conditions::find(conditions, FINISHED).filter(|finished| finished.status == "True");
        match end.map(|finished| finished.reason == finished::POD_SUCCEEDED) {
            Some(true) => Self::Succeeded,
            Some(false) => Self::Failed,
            None if conditions::is_true(conditions, READY) => Self::Ready,
            None => Self::Pending,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Pending => "pending",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

/// Everything by which members of pools are told apart in a count of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Membership {
    pub pool: Key,
    pub template: Option<Arc<str>>,
    pub fitness: Fitness,
}

impl Membership {
    pub fn of(sandbox: &Metadata, conditions: &[Condition]) -> Option<Self> {
        let owner = sandbox.owner.as_ref().filter(|owner| owner.is(Kind::SandboxWarmPool))?;
        Some(Self {
            pool: sandbox.key.sibling(&owner.name),
            template: template(sandbox),
            fitness: Fitness::of(conditions),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::views::{SandboxView, read};

    fn sandbox(metadata: &Value, conditions: &Value) -> SandboxView {
        let mut object = json!({"metadata": {"namespace": "team", "name": "box", "uid": "u", "resourceVersion": "1"},
            "status": {"conditions": conditions}});
        crate::patch::merge(&mut object["metadata"], metadata);
        read(&object).unwrap().unwrap()
    }

    fn condition(type_: &str, status: &str, reason: &str) -> Value {
        json!({"type": type_, "status": status, "reason": reason, "message": "",
            "lastTransitionTime": "2027-01-01T00:00:00Z"})
    }

    fn pooled() -> Value {
        json!({"labels": {LAUNCH_TYPE: "warm", CREATED_BY: "controller"}, "annotations": {TEMPLATE_REF: "python"},
            "ownerReferences": [{"apiVersion": "extensions.agents.x-k8s.io/v1alpha1", "kind": "SandboxWarmPool",
                "name": "pool", "uid": "p", "controller": true}]})
    }

    #[test]
    fn a_sandbox_that_says_nothing_of_itself_is_cold_nobodys_and_of_no_template() {
        let category = Category::of(&sandbox(&json!({}), &json!([])).metadata, &[]);
        let text = (category.holder.as_str(), category.launching.as_str(), category.created_by);
        assert_eq!(text, ("None", "cold", "unknown"));
        assert_eq!((category.template, category.is_ready, category.is_expired), (None, false, false));
    }

    #[test]
    fn a_member_is_its_pools_whichever_version_the_reference_is_of() {
        let member = sandbox(&pooled(), &json!([condition(READY, "True", "DependenciesReady")]));
        let category = Category::of(&member.metadata, &member.status.conditions);
        let text = (category.holder.as_str(), category.launching.as_str(), category.created_by);
        assert_eq!(text, ("SandboxWarmPool", "warm", "controller"));
        assert_eq!(category.template.as_deref(), Some("python"));
        assert!(category.is_ready && !category.is_expired);
    }

    #[test]
    fn an_expired_sandbox_is_told_by_its_reason() {
        let expired = sandbox(&json!({}), &json!([condition(READY, "False", sandbox_ready::EXPIRED)]));
        assert!(Category::of(&expired.metadata, &expired.status.conditions).is_expired);
    }

    #[test]
    fn a_member_that_ended_is_not_ready_whatever_else_it_says() {
        let fitness = |conditions: Value| {
            let member = sandbox(&pooled(), &conditions);
            Membership::of(&member.metadata, &member.status.conditions).unwrap().fitness.as_str()
        };
        let ready = condition(READY, "True", "DependenciesReady");
        assert_eq!(fitness(json!([])), "pending");
        assert_eq!(fitness(json!([ready])), "ready");
        assert_eq!(fitness(json!([ready, condition(FINISHED, "True", finished::POD_FAILED)])), "failed");
        assert_eq!(fitness(json!([condition(FINISHED, "True", finished::POD_SUCCEEDED)])), "succeeded");
        assert_eq!(Membership::of(&sandbox(&json!({}), &json!([])).metadata, &[]), None);
    }
}
