//! Whether the claims of a Pod are ready for it: checked before the node is looked at, in the words of Kubernetes' scheduler.

use std::ops::Deref;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Volume};

use super::occupies;
use crate::pod::ephemeral_volume;

const USELESS: &str = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
const NO_VICTIMS: &str =
    "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.";
const TAKEN: &str = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by \
                     another pod";

/// Where a claim that waits for its first Pod reads the node of that Pod.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// The claims of a Pod that have no volume because they wait for a Pod, or why it waits for its claims. `claim` finds one of
/// the Pod's namespace by name; `is_delayed` says of one whether its class waits for a Pod; `pods` are on the node.
pub fn check_claims<C>(
    pod: &Pod,
    pods: &[&Pod],
    claim: impl Fn(&str) -> Option<C>,
    is_delayed: impl Fn(&PersistentVolumeClaim) -> bool,
) -> Result<Vec<String>, String>
where
    C: Deref<Target = PersistentVolumeClaim>,
{
    let useless = |why: &str| format!("0/1 nodes are available: {why}. {USELESS}");
    let mut found = Vec::new();
    for (volume, name) in claimed(pod) {
        found.push(check(pod, volume, &name, claim(&name)).map_err(|why| useless(&why))?);
    }
    let (delayed, unbound): (Vec<&C>, Vec<&C>) =
        found.iter().filter(|claim| !is_bound(claim)).partition(|claim| is_delayed(claim));
    if !unbound.is_empty() {
        return Err(useless("pod has unbound immediate PersistentVolumeClaims"));
    }
    if found.iter().any(|claim| is_exclusive(claim) && is_used(claim, pod, pods)) {
        return Err(format!("0/1 nodes are available: 1 {TAKEN}. {NO_VICTIMS}"));
    }
    Ok(delayed.iter().filter_map(|claim| claim.metadata.name.clone()).collect())
}

/// The volumes of a Pod that are claims, with the claims' names.
fn claimed(pod: &Pod) -> impl Iterator<Item = (&Volume, String)> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter_map(move |volume| Some((volume, claim_name(pod, volume)?)))
}

/// The claim that a volume is, whether it is named or made for the Pod.
pub fn claim_name(pod: &Pod, volume: &Volume) -> Option<String> {
    match &volume.persistent_volume_claim {
        Some(source) => Some(source.claim_name.clone()),
        None => volume.ephemeral.as_ref().map(|_| ephemeral_volume::claim_name(pod, &volume.name)),
    }
}

fn check<C>(pod: &Pod, volume: &Volume, name: &str, claim: Option<C>) -> Result<C, String>
where
    C: Deref<Target = PersistentVolumeClaim>,
{
    let is_own = volume.ephemeral.is_some();
    let Some(claim) = claim else {
        return Err(if is_own {
            format!("waiting for ephemeral volume controller to create the persistentvolumeclaim {name:?}")
        } else {
            format!("persistentvolumeclaim {name:?} not found")
        });
    };
    if claim.metadata.deletion_timestamp.is_some() {
        return Err(format!("persistentvolumeclaim {name:?} is being deleted"));
    }
    if is_own {
        ephemeral_volume::check(pod, &claim).map_err(|refusal| refusal.to_string())?;
    }
    Ok(claim)
}

fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Bound")
}

fn is_exclusive(claim: &PersistentVolumeClaim) -> bool {
    let mut modes = claim.spec.iter().flat_map(|spec| spec.access_modes.iter().flatten());
    modes.any(|mode| mode == "ReadWriteOncePod")
}

fn is_used(claim: &PersistentVolumeClaim, pod: &Pod, pods: &[&Pod]) -> bool {
    let others = pods.iter().filter(|other| occupies(other, pod));
    let mut near = others.filter(|other| other.metadata.namespace == pod.metadata.namespace);
    near.any(|other| claimed(other).any(|(_, name)| Some(&name) == claim.metadata.name.as_ref()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(name: &str, volume: Value) -> Pod {
        let metadata = json!({"name": name, "namespace": "n", "uid": name});
        serde_json::from_value(json!({"metadata": metadata, "spec": {"containers": [], "volumes": [volume]}}))
            .unwrap()
    }

    fn using(name: &str) -> Pod {
        pod(name, json!({"name": "v", "persistentVolumeClaim": {"claimName": "work"}}))
    }

    fn claim(mode: &str, phase: &str) -> PersistentVolumeClaim {
        let metadata = json!({"name": "work", "namespace": "n", "uid": "c"});
        let spec = json!({"accessModes": [mode]});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec, "status": {"phase": phase}}))
            .unwrap()
    }

    fn why(pod: &Pod, pods: &[&Pod], claim: Option<&PersistentVolumeClaim>) -> String {
        check_claims(pod, pods, |_| claim, |_| false).err().unwrap_or_default()
    }

    #[test]
    fn a_claim_that_waits_for_a_pod_does_not_hold_it_up() {
        let check = |claim: &PersistentVolumeClaim| check_claims(&using("p"), &[], |_| Some(claim), |_| true);
        assert_eq!(check(&claim("ReadWriteOnce", "Pending")), Ok(vec!["work".to_owned()]));
        assert_eq!(check(&claim("ReadWriteOnce", "Bound")), Ok(Vec::new()));
    }

    #[test]
    fn a_pod_waits_until_its_claims_are_there_and_bound() {
        let unbound = claim("ReadWriteOnce", "Pending");
        let mut leaving = claim("ReadWriteOnce", "Bound");
        leaving.metadata.deletion_timestamp =
            Some(crate::conditions::whole_seconds(jiff::Timestamp::UNIX_EPOCH));
        let head = "0/1 nodes are available:";
        let pod = using("p");
        assert_eq!(
            why(&pod, &[], None),
            format!("{head} persistentvolumeclaim \"work\" not found. {USELESS}")
        );
        let expected = format!("{head} pod has unbound immediate PersistentVolumeClaims. {USELESS}");
        assert_eq!(why(&pod, &[], Some(&unbound)), expected);
        let expected = format!("{head} persistentvolumeclaim \"work\" is being deleted. {USELESS}");
        assert_eq!(why(&pod, &[], Some(&leaving)), expected);
        assert_eq!(why(&pod, &[], Some(&claim("ReadWriteOnce", "Bound"))), "");
    }

    #[test]
    fn a_claim_that_a_pod_brings_along_must_be_its_own() {
        let pod = pod("p", json!({"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}));
        assert!(
            why(&pod, &[], None).contains(
                "waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-v\""
            )
        );
        assert!(why(&pod, &[], Some(&claim("ReadWriteOnce", "Bound"))).contains("(pod is not owner)"));
    }

    #[test]
    fn a_claim_for_one_pod_is_not_given_to_two() {
        let single = claim("ReadWriteOncePod", "Bound");
        assert_eq!(why(&using("p"), &[&using("p")], Some(&single)), "");
        let expected = format!("0/1 nodes are available: 1 {TAKEN}. {NO_VICTIMS}");
        assert_eq!(why(&using("p"), &[&using("other")], Some(&single)), expected);
    }
}
