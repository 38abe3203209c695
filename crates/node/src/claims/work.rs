//! What there is to do about claims and volumes. Knows no API server and no disk.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use asb_core::pod::ephemeral_volume;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::ObjectMeta;

use crate::volumes::claim::{self, CLASS, Decision, Reclaim, decide, reclaim};

/// What there is at one moment.
pub(super) struct Found<'a> {
    pub(super) pods: &'a [Arc<Pod>],
    pub(super) claims: &'a [Arc<PersistentVolumeClaim>],
    pub(super) volumes: &'a [Arc<PersistentVolume>],
    pub(super) classes: &'a [Arc<StorageClass>],
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Job {
    /// A claim that a Pod brings along.
    Make(Box<PersistentVolumeClaim>),
    /// A directory, its volume, and then the rest of [`Job::Bind`].
    Provision {
        claim: Arc<PersistentVolumeClaim>,
        class: Arc<StorageClass>,
        name: String,
        bytes: u64,
    },
    Bind {
        claim: Arc<PersistentVolumeClaim>,
        volume: Arc<PersistentVolume>,
    },
    /// More room, for a claim that asks for it.
    Grow {
        claim: Arc<PersistentVolumeClaim>,
        volume: Arc<PersistentVolume>,
        bytes: u64,
    },
    Phase {
        volume: Arc<PersistentVolume>,
        phase: &'static str,
    },
    /// The directory and the volume, if the claim is gone indeed.
    Delete(Arc<PersistentVolume>),
    Tell {
        claim: Arc<PersistentVolumeClaim>,
        reason: &'static str,
        message: String,
    },
}

/// What was told about claims, by uid, so that it is told once.
#[derive(Debug, Default)]
pub(super) struct Told(HashMap<String, String>);

impl Job {
    /// Of those with the same key one is done at a time.
    pub(super) fn key(&self) -> String {
        let (namespace, name) = place(self.metadata());
        match self {
            Self::Make(_) => format!("new claim {namespace}/{name}"),
            Self::Tell { .. } => format!("words about {namespace}/{name}"),
            Self::Provision { .. } | Self::Bind { .. } | Self::Grow { .. } => {
                format!("claim {namespace}/{name}")
            }
            Self::Phase { .. } | Self::Delete(_) => format!("volume {name}"),
        }
    }

    /// The state of the object that calls for it. Once it is done, the object has another.
    pub(super) fn version(&self) -> Option<String> {
        self.metadata().resource_version.clone()
    }

    fn metadata(&self) -> &ObjectMeta {
        match self {
            Self::Make(claim) => &claim.metadata,
            Self::Provision { claim, .. }
            | Self::Bind { claim, .. }
            | Self::Grow { claim, .. }
            | Self::Tell { claim, .. } => &claim.metadata,
            Self::Phase { volume, .. } | Self::Delete(volume) => &volume.metadata,
        }
    }
}

pub(super) fn jobs(found: &Found<'_>, told: &mut Told) -> Vec<Job> {
    let mut jobs = brought_along(found);
    told.0.retain(|uid, _| found.claims.iter().any(|claim| claim.metadata.uid.as_ref() == Some(uid)));
    for claim in found.claims {
        jobs.extend(if is_settled(claim) { of_settled(claim, found) } else { of_claim(claim, found, told) });
    }
    let claims: HashMap<_, _> = found.claims.iter().map(|claim| (place(&claim.metadata), claim)).collect();
    for volume in found.volumes {
        let claim = claim::holder(volume).and_then(|holder| {
            claims
                .get(&(holder.namespace.clone().unwrap_or_default(), holder.name.clone().unwrap_or_default()))
        });
        jobs.extend(of_volume(volume, claim.map(|claim| &***claim)));
    }
    jobs
}

fn place(metadata: &ObjectMeta) -> (String, String) {
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}

fn is_settled(claim: &PersistentVolumeClaim) -> bool {
    claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Bound")
}

/// Claims of Pods that are to run and have none yet.
fn brought_along(found: &Found<'_>) -> Vec<Job> {
    let has_ended = |pod: &Pod| {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        pod.metadata.deletion_timestamp.is_some() || matches!(phase, Some("Succeeded" | "Failed"))
    };
    let running = found.pods.iter().filter(|pod| !has_ended(pod));
    let mut wanted = running.flat_map(|pod| ephemeral_volume::claims(pod)).peekable();
    if wanted.peek().is_none() {
        return Vec::new();
    }
    let there: HashSet<_> = found.claims.iter().map(|claim| place(&claim.metadata)).collect();
    wanted
        .filter(|claim| !there.contains(&place(&claim.metadata)))
        .map(|claim| Job::Make(Box::new(claim)))
        .collect()
}

fn of_claim(claim: &Arc<PersistentVolumeClaim>, found: &Found<'_>, told: &mut Told) -> Option<Job> {
    let this = Arc::clone(claim);
    match decide(claim, found.classes, found.volumes) {
        Decision::Nothing => None,
        Decision::Provision { name, bytes } => {
            let wanted = claim.spec.as_ref()?.storage_class_name.as_deref().unwrap_or(CLASS);
            let class = found.classes.iter().find(|class| class.metadata.name.as_deref() == Some(wanted))?;
            Some(Job::Provision { claim: this, class: Arc::clone(class), name, bytes })
        }
        Decision::Bind { name } => {
            let volume = found.volumes.iter().find(|volume| volume.metadata.name.as_ref() == Some(&name))?;
            Some(Job::Bind { claim: this, volume: Arc::clone(volume) })
        }
        Decision::Wait { reason, message } => {
            let before = told.0.insert(claim.metadata.uid.clone()?, message.clone());
            (before.as_ref() != Some(&message)).then_some(Job::Tell { claim: this, reason, message })
        }
    }
}

/// A claim that has its volume may ask for more.
fn of_settled(claim: &Arc<PersistentVolumeClaim>, found: &Found<'_>) -> Option<Job> {
    let name = claim.spec.as_ref()?.volume_name.as_ref()?;
    // Before the search: few ask for more.
    let status = claim.status.as_ref().and_then(|status| status.capacity.as_ref()?.get("storage"));
    if status == claim::request(claim) {
        return None;
    }
    let volume = found.volumes.iter().find(|volume| volume.metadata.name.as_ref() == Some(name))?;
    let bytes = claim::growth(claim, volume)?;
    Some(Job::Grow { claim: Arc::clone(claim), volume: Arc::clone(volume), bytes })
}

fn of_volume(volume: &Arc<PersistentVolume>, claim: Option<&PersistentVolumeClaim>) -> Option<Job> {
    let claims: Vec<_> = claim.into_iter().collect();
    if reclaim(volume, &claims) == Reclaim::Delete {
        return Some(Job::Delete(Arc::clone(volume)));
    }
    let phase = claim::phase(volume, claim);
    let shown = volume.status.as_ref().and_then(|status| status.phase.as_deref());
    // A volume that was released stays so, even if its claim should show again.
    let is_due = shown != Some(phase) && volume.metadata.deletion_timestamp.is_none();
    is_due.then(|| Job::Phase { volume: Arc::clone(volume), phase })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;

    fn claim(phase: &str, spec: Value) -> Arc<PersistentVolumeClaim> {
        let metadata = json!({"name": "work", "namespace": "n", "uid": "u1"});
        let claim = json!({"metadata": metadata, "spec": spec, "status": {"phase": phase}});
        Arc::new(serde_json::from_value(claim).unwrap())
    }

    fn made(claim: &PersistentVolumeClaim, phase: &str) -> Arc<PersistentVolume> {
        let mut volume = claim::volume(claim, &claim::storage_class(), Path::new("/v"), "here");
        volume.status.as_mut().unwrap().phase = Some(phase.to_owned());
        Arc::new(volume)
    }

    fn look(
        pods: &[Arc<Pod>],
        claims: &[Arc<PersistentVolumeClaim>],
        volumes: &[Arc<PersistentVolume>],
        told: &mut Told,
    ) -> Vec<String> {
        let classes = [Arc::new(claim::storage_class())];
        let described = |job: Job| match job {
            Job::Make(claim) => format!("make {}", claim.metadata.name.unwrap()),
            Job::Provision { name, .. } => format!("provision {name}"),
            Job::Bind { volume, .. } => format!("bind {}", volume.metadata.name.as_ref().unwrap()),
            Job::Grow { bytes, .. } => format!("grow to {bytes}"),
            Job::Phase { phase, .. } => phase.to_owned(),
            Job::Delete(_) => "delete".to_owned(),
            Job::Tell { reason, .. } => reason.to_owned(),
        };
        jobs(&Found { pods, claims, volumes, classes: &classes }, told).into_iter().map(described).collect()
    }

    #[test]
    fn a_claim_goes_from_nothing_to_bound_in_steps_of_which_each_shows() {
        let told = &mut Told::default();
        let (pending, bound) = (claim("Pending", json!({})), claim("Bound", json!({"volumeName": "pvc-u1"})));
        assert_eq!(look(&[], &[Arc::clone(&pending)], &[], told), ["provision pvc-u1"]);
        let half = [made(&pending, "Pending")];
        assert_eq!(look(&[], &[pending], &half, told), ["bind pvc-u1", "Bound"]);
        let named = claim("Pending", json!({"volumeName": "pvc-u1"}));
        assert_eq!(look(&[], &[named], &[made(&bound, "Bound")], told), ["bind pvc-u1"]);
        assert_eq!(look(&[], &[Arc::clone(&bound)], &[made(&bound, "Bound")], told), [""; 0]);
    }

    #[test]
    fn a_claim_that_asks_for_more_gets_it() {
        let told = &mut Told::default();
        let size = |size: &str| json!({"volumeName": "pvc-u1", "resources": {"requests": {"storage": size}}});
        let volume = made(&claim("Bound", size("1Ki")), "Bound");
        let mut grown = Arc::unwrap_or_clone(claim("Bound", size("2Ki")));
        let capacity = [("storage".to_owned(), claim::request(&claim("", size("1Ki"))).unwrap().clone())];
        grown.status.as_mut().unwrap().capacity = Some(capacity.into());
        assert_eq!(look(&[], &[Arc::new(grown)], &[volume], told), ["grow to 2048"]);
    }

    #[test]
    fn a_volume_without_its_claim_is_deleted_or_released() {
        let told = &mut Told::default();
        let volume = made(&claim("Bound", json!({})), "Bound");
        assert_eq!(look(&[], &[], &[Arc::clone(&volume)], told), ["delete"]);
        let mut kept = Arc::unwrap_or_clone(volume);
        kept.spec.as_mut().unwrap().persistent_volume_reclaim_policy = Some("Retain".into());
        assert_eq!(look(&[], &[], &[Arc::new(kept)], told), ["Released"]);
    }

    #[test]
    fn what_a_claim_waits_for_is_told_once() {
        let told = &mut Told::default();
        let claims = [claim("Pending", json!({"storageClassName": "gold"}))];
        assert_eq!(look(&[], &claims, &[], told), ["ProvisioningFailed"]);
        assert_eq!(look(&[], &claims, &[], told), [""; 0]);
    }

    #[test]
    fn claims_that_pods_bring_along_are_made_while_the_pod_is_to_run() {
        let volume = json!({"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}});
        let spec = json!({"containers": [], "volumes": [volume]});
        let pod = json!({"metadata": {"name": "p", "namespace": "n", "uid": "p"}, "spec": spec});
        let mut pod: Pod = serde_json::from_value(pod).unwrap();
        let told = &mut Told::default();
        assert_eq!(look(&[Arc::new(pod.clone())], &[], &[], told), ["make p-v"]);
        pod.status = Some(serde_json::from_value(json!({"phase": "Failed"})).unwrap());
        assert_eq!(look(&[Arc::new(pod)], &[], &[], told), [""; 0]);
    }
}
