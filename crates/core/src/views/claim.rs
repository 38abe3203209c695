//! What is kept of a SandboxClaim.

use asb_types::annotations::v1alpha1_state;
use asb_types::blueprint::PodMetadata;
use asb_types::env::ClaimEnvVar;
use asb_types::lifecycle::{ClaimShutdownPolicy, LostSandboxPolicy};
use asb_types::names;
use asb_types::v1alpha1::WARM_POOL_NONE;
use asb_types::v1beta1::SandboxClaimStatus;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::shorthand::spelled;
use super::{BadField, View, deadline, optional, status};
use crate::document::{Document, Documents};
use crate::object::Metadata;
use crate::write::Kind;

#[derive(Clone, Debug, PartialEq)]
pub struct ClaimView {
    pub metadata: Metadata,
    pub request: Request,
    pub shutdown_time: Option<Timestamp>,
    pub ttl_after_finished: Option<SignedDuration>,
    /// `spec.lifecycle.ttlSecondsAfterExpired`: how long a claim that is kept by Retain outlives its expiry.
    pub ttl_after_expired: Option<SignedDuration>,
    pub shutdown_policy: ClaimShutdownPolicy,
    pub lost_sandbox_policy: LostSandboxPolicy,
    pub additional_pod_metadata: PodMetadata,
    pub env: Vec<ClaimEnvVar>,
    /// `spec.volumeClaimTemplates`, null where there are none.
    pub volumes: Document,
    pub status: SandboxClaimStatus,
    /// The spec as it is stored, where a short spelling is in control.
    pub spelled: Option<Document>,
}

/// Where a claim wants its Sandbox from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// From this pool, or fresh from its template.
    Pool(String),
    /// From any pool of this template, or fresh: how a v1alpha1 claim by template is stored. The pool that it names
    /// need not exist.
    Template { template: String, pool: String },
    /// Fresh from this template, whatever the pools hold.
    Fresh { template: String, pool: String },
}

impl Request {
    fn read(metadata: &Metadata, pool: &str) -> Self {
        let Some(template) = names::shadowed_template(pool) else { return Self::Pool(pool.to_owned()) };
        let (template, pool) = (template.to_owned(), pool.to_owned());
        if wants_none(metadata, &template) {
            Self::Fresh { template, pool }
        } else {
            Self::Template { template, pool }
        }
    }

    /// The name in `spec.warmPoolRef`.
    pub fn pool(&self) -> &str {
        match self {
            Self::Pool(pool) | Self::Template { pool, .. } | Self::Fresh { pool, .. } => pool,
        }
    }
}

/// Whether the claim was written as v1alpha1 with `warmpool: none`, which v1beta1 has no field for.
fn wants_none(metadata: &Metadata, template: &str) -> bool {
    let state =
        metadata.annotation(v1alpha1_state::CLAIM).and_then(|text| serde_json::from_str::<Value>(text).ok());
    state.is_some_and(|state| {
        state["spec"]["warmpool"] == WARM_POOL_NONE && state["spec"]["sandboxTemplateRef"]["name"] == template
    })
}

impl ClaimView {
    /// Whether it asks for something that no Sandbox of a pool can have.
    pub fn needs_fresh_sandbox(&self) -> bool {
        !self.env.is_empty() || self.volumes.value().as_array().is_some_and(|volumes| !volumes.is_empty())
    }
}

impl View for ClaimView {
    const KIND: Kind = Kind::SandboxClaim;

    fn read(metadata: Metadata, object: &Value) -> Result<Self, BadField> {
        let spec = &object["spec"];
        let lifecycle = &spec["lifecycle"];
        let seconds = |value: &Value, field| {
            let seconds: Option<i32> = optional(value, field)?;
            Ok(seconds.map(|seconds| SignedDuration::from_secs(seconds.into())))
        };
        let policy = optional(&lifecycle["shutdownPolicy"], "spec.lifecycle.shutdownPolicy")?;
        let pod_metadata = optional(&spec["additionalPodMetadata"], "spec.additionalPodMetadata")?;
        Ok(Self {
            request: Request::read(&metadata, spec["warmPoolRef"]["name"].as_str().unwrap_or_default()),
            shutdown_time: deadline(&lifecycle["shutdownTime"], "spec.lifecycle.shutdownTime")?,
            ttl_after_finished: seconds(
                &lifecycle["ttlSecondsAfterFinished"],
                "spec.lifecycle.ttlSecondsAfterFinished",
            )?,
            ttl_after_expired: seconds(
                &lifecycle["ttlSecondsAfterExpired"],
                "spec.lifecycle.ttlSecondsAfterExpired",
            )?,
            lost_sandbox_policy: optional(&spec["lostSandboxPolicy"], "spec.lostSandboxPolicy")?
                .unwrap_or_default(),
            shutdown_policy: policy.unwrap_or_default(),
            additional_pod_metadata: pod_metadata.unwrap_or_default(),
            env: optional(&spec["env"], "spec.env")?.unwrap_or_default(),
            volumes: (&spec["volumeClaimTemplates"]).into(),
            status: status(object),
            spelled: spelled(&metadata, object),
            metadata,
        })
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn share(&mut self, documents: &mut Documents) {
        self.volumes = documents.share(&self.volumes);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::views::read;

    fn request(pool: &str, state: &Value) -> Request {
        let object = json!({
            "metadata": {"name": "c", "namespace": "n", "uid": "u", "resourceVersion": "1",
                "annotations": {v1alpha1_state::CLAIM: state.to_string()}},
            "spec": {"warmPoolRef": {"name": pool}},
        });
        read::<ClaimView>(&object).unwrap().unwrap().request
    }

    #[test]
    fn a_claim_by_template_takes_from_any_pool_of_it_unless_it_wants_none() {
        let none = json!({"spec": {"warmpool": "none", "sandboxTemplateRef": {"name": "python"}}});
        let (template, pool) = ("python".to_owned(), "shadow-pool-python".to_owned());
        assert_eq!(request("mine", &none), Request::Pool("mine".to_owned()));
        assert_eq!(
            request(&pool, &json!({})),
            Request::Template { template: template.clone(), pool: pool.clone() }
        );
        assert_eq!(request(&pool, &none), Request::Fresh { template, pool });
    }

    #[test]
    fn the_wish_for_none_holds_only_for_the_template_it_was_made_for() {
        let none = json!({"spec": {"warmpool": "none", "sandboxTemplateRef": {"name": "go"}}});
        assert!(matches!(request("shadow-pool-python", &none), Request::Template { .. }));
    }
}
