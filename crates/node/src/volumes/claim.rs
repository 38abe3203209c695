//! Claims to storage, and the volumes that fill them: which is made, bound, kept or removed. Pure.
//!
//! There is one node, so our own class makes volumes at once; a class of a user's may wait for the first Pod.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use asb_core::pod::scheduler::SELECTED_NODE;
use k8s_openapi::api::core::v1::{
    LocalVolumeSource, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectReference,
    PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeClaimStatus,
    PersistentVolumeSpec, PersistentVolumeStatus, VolumeNodeAffinity,
};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::quantity::units;

/// The class of those who name none.
pub const CLASS: &str = "asb-local";
pub const PROVISIONER: &str = "agent-sandbox.dev/local";

const IS_DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
const STORAGE_PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// Why a claim without a Pod has no volume, which is as it should be.
pub const FIRST_CONSUMER: &str = "WaitForFirstConsumer";

/// What a claim needs next.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// It is bound, or another's business.
    Nothing,
    /// A directory of this name, and an object that says so.
    Provision { name: String, bytes: u64 },
    /// The volume is there: the claim is told.
    Bind { name: String },
    /// It stays Pending, for this reason: of an event, and for people.
    Wait { reason: &'static str, message: String },
}

/// What becomes of a volume whose claim is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reclaim {
    /// In use, or another's.
    Nothing,
    /// It is kept, and nobody else gets it.
    Release,
    Delete,
}

pub fn storage_class() -> StorageClass {
    StorageClass {
        metadata: ObjectMeta {
            name: Some(CLASS.to_owned()),
            annotations: Some([(IS_DEFAULT.to_owned(), "true".to_owned())].into()),
            ..ObjectMeta::default()
        },
        provisioner: PROVISIONER.to_owned(),
        reclaim_policy: Some("Delete".to_owned()),
        volume_binding_mode: Some("Immediate".to_owned()),
        allow_volume_expansion: Some(true),
        ..StorageClass::default()
    }
}

/// Whether claims that name no class get this one.
pub fn is_default(class: &StorageClass) -> bool {
    let notes = class.metadata.annotations.as_ref();
    notes.and_then(|notes| notes.get(IS_DEFAULT)).is_some_and(|text| text == "true")
}

/// `classes` are all that exist, `volumes` as well.
pub fn decide<C, V>(claim: &PersistentVolumeClaim, classes: &[C], volumes: &[V]) -> Decision
where
    C: Borrow<StorageClass>,
    V: Borrow<PersistentVolume>,
{
    let Some(spec) = &claim.spec else { return Decision::Nothing };
    let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
    if phase == Some("Bound") || claim.metadata.deletion_timestamp.is_some() {
        return Decision::Nothing;
    }
    if let Some(name) = spec.volume_name.as_deref().filter(|name| !name.is_empty()) {
        return existing(claim, name, volumes);
    }
    if let Some(name) = reserved(claim, volumes) {
        return existing(claim, &name, volumes);
    }
    let class = spec.storage_class_name.as_deref().unwrap_or(CLASS);
    let mut known = classes.iter().map(Borrow::borrow);
    let provisioner = known.find(|known| known.metadata.name.as_deref() == Some(class));
    match provisioner.map(|class| class.provisioner.as_str()) {
        Some(PROVISIONER) if provisioner.is_some_and(is_delayed) && !is_awaited(claim) => {
            wait(FIRST_CONSUMER, "waiting for first consumer to be created before binding")
        }
        Some(PROVISIONER) => provision(claim, spec),
        Some(_) => Decision::Nothing,
        None if class.is_empty() => wait(
            "FailedBinding",
            "no persistent volumes available for this claim and no storage class is set",
        ),
        None => wait("ProvisioningFailed", &format!("storageclass.storage.k8s.io {class:?} not found")),
    }
}

/// Whether claims of a class get their volumes when a Pod is to have them.
pub fn is_delayed(class: &StorageClass) -> bool {
    class.volume_binding_mode.as_deref() == Some(FIRST_CONSUMER)
}

/// Whether a Pod that is to run here waits for the claim.
fn is_awaited(claim: &PersistentVolumeClaim) -> bool {
    claim.metadata.annotations.as_ref().is_some_and(|notes| notes.contains_key(SELECTED_NODE))
}

/// How large a volume of ours is to become, where its claim asks for more than it was given.
pub fn growth(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> Option<u64> {
    let granted = claim.status.as_ref().and_then(|status| status.capacity.as_ref()?.get("storage"));
    let is_its = holder(volume).is_some_and(|holder| refers_to(holder, claim)) && is_ours(volume);
    let wanted = requested(claim);
    (is_its && wanted > granted.map_or(0, units)).then_some(wanted)
}

/// One that somebody made for the claim, and that names it.
fn reserved<V: Borrow<PersistentVolume>>(claim: &PersistentVolumeClaim, volumes: &[V]) -> Option<String> {
    let holder = |volume: &PersistentVolume| volume.spec.as_ref().and_then(|spec| spec.claim_ref.clone());
    let mut all = volumes.iter().map(Borrow::borrow);
    let found = all.find(|volume| holder(volume).is_some_and(|holder| refers_to(&holder, claim)))?;
    found.metadata.name.clone()
}

/// One that the claim names. It must be free, or kept for this very claim.
fn existing<V: Borrow<PersistentVolume>>(
    claim: &PersistentVolumeClaim,
    name: &str,
    volumes: &[V],
) -> Decision {
    let mut all = volumes.iter().map(Borrow::borrow);
    let volume = all.find(|volume| volume.metadata.name.as_deref() == Some(name));
    let Some(volume) = volume else {
        return wait("FailedBinding", &format!("volume {name:?} not found"));
    };
    let holder = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
    let is_free = holder.is_none_or(|holder| refers_to(holder, claim));
    if !is_free {
        return wait("FailedBinding", &format!("volume {name:?} already bound to a different claim."));
    }
    let capacity =
        volume.spec.as_ref().and_then(|spec| spec.capacity.as_ref()?.get("storage")).map_or(0, units);
    if capacity < requested(claim) {
        return wait(
            "VolumeMismatch",
            "Cannot bind to requested volume: requested volume is smaller than requested size",
        );
    }
    Decision::Bind { name: name.to_owned() }
}

fn provision(claim: &PersistentVolumeClaim, spec: &PersistentVolumeClaimSpec) -> Decision {
    let refuse = |message: &str| wait("ProvisioningFailed", message);
    if spec.volume_mode.as_deref() == Some("Block") {
        return refuse("block devices are not given to containers");
    }
    if spec.selector.is_some() {
        return refuse("volumes are made for claims, not chosen: claim.Spec.Selector is not supported");
    }
    if spec.data_source.is_some() || spec.data_source_ref.is_some() {
        return refuse("a new claim begins empty on this node: dataSource is not supported");
    }
    let Some(name) = volume_name(claim) else { return Decision::Nothing };
    Decision::Provision { name, bytes: requested(claim) }
}

fn wait(reason: &'static str, message: &str) -> Decision {
    Decision::Wait { reason, message: message.to_owned() }
}

/// The claim's uid makes it: a claim of the same name that comes later gets another.
pub fn volume_name(claim: &PersistentVolumeClaim) -> Option<String> {
    claim.metadata.uid.as_ref().map(|uid| format!("pvc-{uid}"))
}

fn requested(claim: &PersistentVolumeClaim) -> u64 {
    request(claim).map_or(0, units)
}

/// The size that a claim asks for.
pub fn request(claim: &PersistentVolumeClaim) -> Option<&Quantity> {
    claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?.get("storage")
}

/// The object for a directory that was made.
pub fn volume(
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
    data: &Path,
    node: &str,
) -> PersistentVolume {
    let spec = claim.spec.clone().unwrap_or_default();
    let storage = request(claim).cloned().unwrap_or_else(|| Quantity("0".to_owned()));
    PersistentVolume {
        metadata: ObjectMeta {
            name: volume_name(claim),
            annotations: Some([(PROVISIONED_BY.to_owned(), PROVISIONER.to_owned())].into()),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeSpec {
            access_modes: spec.access_modes,
            capacity: Some([("storage".to_owned(), storage)].into()),
            claim_ref: Some(reference(claim)),
            local: Some(LocalVolumeSource { path: data.display().to_string(), fs_type: None }),
            node_affinity: Some(affinity(node)),
            persistent_volume_reclaim_policy: class.reclaim_policy.clone().or(Some("Delete".to_owned())),
            storage_class_name: class.metadata.name.clone(),
            volume_mode: Some("Filesystem".to_owned()),
            ..PersistentVolumeSpec::default()
        }),
        status: Some(PersistentVolumeStatus {
            phase: Some("Bound".to_owned()),
            ..PersistentVolumeStatus::default()
        }),
    }
}

/// Who has the volume.
pub fn reference(claim: &PersistentVolumeClaim) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("PersistentVolumeClaim".to_owned()),
        namespace: claim.metadata.namespace.clone(),
        name: claim.metadata.name.clone(),
        uid: claim.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

fn affinity(node: &str) -> VolumeNodeAffinity {
    let here = NodeSelectorRequirement {
        key: "kubernetes.io/hostname".to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![node.to_owned()]),
    };
    let term = NodeSelectorTerm { match_expressions: Some(vec![here]), match_fields: None };
    VolumeNodeAffinity { required: Some(NodeSelector { node_selector_terms: vec![term] }) }
}

/// The claim once it has its volume.
pub fn bound(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> PersistentVolumeClaim {
    let mut bound = claim.clone();
    let given = volume.spec.clone().unwrap_or_default();
    let notes = bound.metadata.annotations.get_or_insert_with(BTreeMap::new);
    notes.insert(BIND_COMPLETED.to_owned(), "yes".to_owned());
    if !is_chosen(claim) {
        notes.insert(BOUND_BY_CONTROLLER.to_owned(), "yes".to_owned());
    }
    if is_ours(volume) {
        notes.insert(STORAGE_PROVISIONER.to_owned(), PROVISIONER.to_owned());
    }
    bound.spec.get_or_insert_default().volume_name.clone_from(&volume.metadata.name);
    bound.status = Some(PersistentVolumeClaimStatus {
        phase: Some("Bound".to_owned()),
        access_modes: given.access_modes,
        capacity: given.capacity,
        ..PersistentVolumeClaimStatus::default()
    });
    bound
}

/// Whether the claim names its volume by itself.
fn is_chosen(claim: &PersistentVolumeClaim) -> bool {
    claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).is_some_and(|name| !name.is_empty())
}

/// Whether the volume is a directory that we made.
fn is_ours(volume: &PersistentVolume) -> bool {
    let notes = volume.metadata.annotations.as_ref();
    notes.and_then(|notes| notes.get(PROVISIONED_BY)).is_some_and(|by| by == PROVISIONER)
}

/// What becomes of a volume, given all claims that exist. One that is kept for a claim yet to come is not held by any.
pub fn reclaim<C: Borrow<PersistentVolumeClaim>>(volume: &PersistentVolume, claims: &[C]) -> Reclaim {
    let Some(holder) = holder(volume) else { return Reclaim::Nothing };
    if claims.iter().any(|claim| refers_to(holder, claim.borrow())) {
        return Reclaim::Nothing;
    }
    match volume.spec.as_ref().and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref()) {
        Some("Delete") if is_ours(volume) => Reclaim::Delete,
        _ => Reclaim::Release,
    }
}

/// The claim that a volume is or was bound to.
pub fn holder(volume: &PersistentVolume) -> Option<&ObjectReference> {
    let claim = volume.spec.as_ref()?.claim_ref.as_ref()?;
    claim.uid.is_some().then_some(claim)
}

/// The phase that a volume is in, given the claim that it is for, if that exists.
pub fn phase(volume: &PersistentVolume, claim: Option<&PersistentVolumeClaim>) -> &'static str {
    match (holder(volume), claim) {
        (None, _) => "Available",
        (Some(holder), Some(claim)) if refers_to(holder, claim) => "Bound",
        (Some(_), _) => "Released",
    }
}

/// Where a volume's content is on this machine.
pub fn directory(volume: &PersistentVolume) -> Option<PathBuf> {
    let spec = volume.spec.as_ref()?;
    let local = spec.local.as_ref().map(|source| &source.path);
    local.or(spec.host_path.as_ref().map(|source| &source.path)).map(PathBuf::from)
}

/// By uid, where there is one: a claim that was deleted and made anew is another.
fn refers_to(holder: &ObjectReference, claim: &PersistentVolumeClaim) -> bool {
    let metadata = &claim.metadata;
    let is_named = holder.name == metadata.name && holder.namespace == metadata.namespace;
    is_named && holder.uid.as_ref().is_none_or(|uid| Some(uid) == metadata.uid.as_ref())
}

/// Whether one more Pod may use a claim, given how many do.
pub fn admits(claim: &PersistentVolumeClaim, users: usize) -> bool {
    let mut modes = claim.spec.iter().flat_map(|spec| spec.access_modes.iter().flatten());
    let is_exclusive = modes.any(|mode| mode == "ReadWriteOncePod");
    users == 0 || !is_exclusive
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn claim(spec: Value) -> PersistentVolumeClaim {
        let mut whole =
            json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let metadata = json!({"name": "work", "namespace": "n", "uid": "u1"});
        serde_json::from_value(json!({"metadata": metadata, "spec": whole})).unwrap()
    }

    fn made(claim: &PersistentVolumeClaim) -> PersistentVolume {
        volume(claim, &storage_class(), Path::new("/n/volumes/pvc-u1/data"), "here")
    }

    fn decision(spec: Value, volumes: &[PersistentVolume]) -> Decision {
        decide(&claim(spec), &[storage_class()], volumes)
    }

    fn waits(spec: Value) -> String {
        match decision(spec, &[]) {
            Decision::Wait { reason, message } => format!("{reason}: {message}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_claim_gets_a_volume_of_its_own_and_is_bound_to_it() {
        let name = "pvc-u1".to_owned();
        assert_eq!(decision(json!({}), &[]), Decision::Provision { name: name.clone(), bytes: 1 << 30 });
        let volume = made(&claim(json!({})));
        assert_eq!(decision(json!({}), std::slice::from_ref(&volume)), Decision::Bind { name });
        let bound = bound(&claim(json!({})), &volume);
        assert_eq!(decide(&bound, &[storage_class()], std::slice::from_ref(&volume)), Decision::Nothing);
        insta::assert_yaml_snapshot!((storage_class(), volume, bound));
    }

    #[test]
    fn what_cannot_be_had_is_said() {
        insta::assert_snapshot!(
            [
                waits(json!({"volumeMode": "Block"})),
                waits(json!({"selector": {}})),
                waits(json!({"dataSource": {"kind": "PersistentVolumeClaim", "name": "x"}})),
                waits(json!({"storageClassName": "gold"})),
                waits(json!({"storageClassName": ""})),
                waits(json!({"volumeName": "none"})),
            ]
            .join("\n")
        );
    }

    #[test]
    fn a_named_volume_is_taken_if_it_is_free_and_large_enough() {
        let mut volume = made(&claim(json!({})));
        let name = json!({"volumeName": "pvc-u1"});
        assert_eq!(
            decision(name.clone(), std::slice::from_ref(&volume)),
            Decision::Bind { name: "pvc-u1".into() }
        );
        volume.spec.as_mut().unwrap().claim_ref.as_mut().unwrap().uid = Some("another".into());
        assert!(matches!(
            decision(name.clone(), std::slice::from_ref(&volume)),
            Decision::Wait { reason: "FailedBinding", .. }
        ));
        volume.spec.as_mut().unwrap().claim_ref = None;
        volume.spec.as_mut().unwrap().capacity = None;
        assert!(matches!(
            decision(name, std::slice::from_ref(&volume)),
            Decision::Wait { reason: "VolumeMismatch", .. }
        ));
    }

    #[test]
    fn a_class_may_wait_for_the_first_pod() {
        let mut class = storage_class();
        class.volume_binding_mode = Some(FIRST_CONSUMER.into());
        let mut claim = claim(json!({}));
        let decision =
            |claim: &PersistentVolumeClaim| decide(claim, &[class.clone()], &[] as &[PersistentVolume]);
        assert!(matches!(decision(&claim), Decision::Wait { reason: FIRST_CONSUMER, .. }));
        claim.metadata.annotations = Some([(SELECTED_NODE.to_owned(), "here".to_owned())].into());
        assert!(matches!(decision(&claim), Decision::Provision { .. }));
    }

    #[test]
    fn a_volume_grows_with_its_own_claim() {
        let volume = made(&claim(json!({})));
        let bound = bound(&claim(json!({})), &volume);
        assert_eq!(growth(&bound, &volume), None);
        let mut more = bound.clone();
        let size = json!({"requests": {"storage": "2Gi"}});
        more.spec.as_mut().unwrap().resources = Some(serde_json::from_value(size).unwrap());
        assert_eq!(growth(&more, &volume), Some(2 << 30));
        more.metadata.uid = Some("another".into());
        assert_eq!(growth(&more, &volume), None);
    }

    #[test]
    fn classes_of_others_are_left_to_them() {
        let mut other = storage_class();
        other.metadata.name = Some("gold".into());
        other.provisioner = "example.com/gold".into();
        assert_eq!(
            decide(&claim(json!({"storageClassName": "gold"})), &[other], &[] as &[PersistentVolume]),
            Decision::Nothing
        );
    }

    #[test]
    fn a_volume_goes_with_its_claim_or_is_kept_and_never_another_claims() {
        let (claim, mut volume) = (claim(json!({})), made(&claim(json!({}))));
        assert_eq!(reclaim(&volume, std::slice::from_ref(&claim)), Reclaim::Nothing);
        let none: [PersistentVolumeClaim; 0] = [];
        assert_eq!(reclaim(&volume, &none), Reclaim::Delete);
        let mut again = claim.clone();
        again.metadata.uid = Some("u2".into());
        assert_eq!(reclaim(&volume, &[again]), Reclaim::Delete);
        volume.spec.as_mut().unwrap().persistent_volume_reclaim_policy = Some("Retain".into());
        assert_eq!(reclaim(&volume, &none), Reclaim::Release);
        volume.spec.as_mut().unwrap().persistent_volume_reclaim_policy = Some("Delete".into());
        volume.metadata.annotations = None;
        assert_eq!(reclaim(&volume, &none), Reclaim::Release, "made by another, who removes it");
        volume.spec.as_mut().unwrap().claim_ref.as_mut().unwrap().uid = None;
        assert_eq!(reclaim(&volume, &none), Reclaim::Nothing, "kept for a claim yet to come");
    }

    #[test]
    fn a_volume_that_names_its_claim_is_given_to_it() {
        let mut volume = made(&claim(json!({})));
        volume.metadata.name = Some("by-hand".into());
        volume.spec.as_mut().unwrap().claim_ref.as_mut().unwrap().uid = None;
        let found = decision(json!({"storageClassName": ""}), std::slice::from_ref(&volume));
        assert_eq!(found, Decision::Bind { name: "by-hand".into() });
        assert_eq!(phase(&volume, None), "Available");
    }

    #[test]
    fn phases_follow_the_claim() {
        let (claim, volume) = (claim(json!({})), made(&claim(json!({}))));
        assert_eq!((phase(&volume, Some(&claim)), phase(&volume, None)), ("Bound", "Released"));
        assert_eq!(directory(&volume), Some("/n/volumes/pvc-u1/data".into()));
    }

    #[test]
    fn a_claim_for_one_pod_admits_one() {
        let shared = claim(json!({}));
        let single = claim(json!({"accessModes": ["ReadWriteOncePod"]}));
        assert!(admits(&shared, 3) && admits(&single, 0) && !admits(&single, 1));
    }
}
