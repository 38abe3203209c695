//! Claims that a Pod brings along: which they are, and whether one that exists is the Pod's own.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

/// A claim of somebody else's has the name that the Pod's would have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("PVC {namespace}/{claim} was not created for pod {namespace}/{pod} (pod is not owner)")]
pub struct NotOurs {
    namespace: String,
    claim: String,
    pod: String,
}

/// The claims that a Pod brings along, to be created where they are missing. They go with the Pod, which owns them.
pub fn claims(pod: &Pod) -> Vec<PersistentVolumeClaim> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter_map(|volume| claim(pod, volume)).collect()
}

/// The name of a volume's claim: that of the Pod and its own.
pub fn claim_name(pod: &Pod, volume: &str) -> String {
    format!("{}-{volume}", text(pod.metadata.name.as_ref()))
}

/// Whether the Pod may use a claim that it finds by the name of its own.
pub fn check(pod: &Pod, claim: &PersistentVolumeClaim) -> Result<(), NotOurs> {
    let owners = claim.metadata.owner_references.iter().flatten();
    let mut controllers = owners.filter(|owner| owner.controller == Some(true));
    let is_ours = controllers.any(|owner| Some(&owner.uid) == pod.metadata.uid.as_ref());
    let refusal = || NotOurs {
        namespace: text(pod.metadata.namespace.as_ref()),
        claim: text(claim.metadata.name.as_ref()),
        pod: text(pod.metadata.name.as_ref()),
    };
    if is_ours { Ok(()) } else { Err(refusal()) }
}

fn claim(pod: &Pod, volume: &Volume) -> Option<PersistentVolumeClaim> {
    let template = volume.ephemeral.as_ref()?.volume_claim_template.as_ref()?;
    let given = template.metadata.clone().unwrap_or_default();
    let metadata = ObjectMeta {
        name: Some(claim_name(pod, &volume.name)),
        namespace: pod.metadata.namespace.clone(),
        labels: given.labels,
        annotations: given.annotations,
        owner_references: Some(vec![owner(pod)]),
        ..ObjectMeta::default()
    };
    Some(PersistentVolumeClaim { metadata, spec: Some(template.spec.clone()), status: None })
}

fn owner(pod: &Pod) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        name: text(pod.metadata.name.as_ref()),
        uid: text(pod.metadata.uid.as_ref()),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

fn text(text: Option<&String>) -> String {
    text.cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(uid: &str) -> Pod {
        let template =
            json!({"metadata": {"labels": {"a": "b"}}, "spec": {"accessModes": ["ReadWriteOnce"]}});
        let volumes = json!([{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}, {"name": "e", "emptyDir": {}}]);
        let metadata = json!({"name": "p", "namespace": "n", "uid": uid});
        serde_json::from_value(json!({"metadata": metadata, "spec": {"containers": [], "volumes": volumes}}))
            .unwrap()
    }

    #[test]
    fn a_claim_is_named_after_pod_and_volume_and_owned_by_the_pod() {
        let claims = claims(&pod("u"));
        assert_eq!(claims.len(), 1);
        let claim = serde_json::to_value(&claims[0]).unwrap();
        assert_eq!(
            (&claim["metadata"]["name"], &claim["metadata"]["namespace"]),
            (&json!("p-scratch"), &json!("n"))
        );
        assert_eq!(
            (&claim["metadata"]["labels"]["a"], &claim["spec"]["accessModes"][0]),
            (&json!("b"), &json!("ReadWriteOnce"))
        );
    }

    #[test]
    fn a_claim_of_another_is_not_touched() {
        let claim = claims(&pod("u")).remove(0);
        assert_eq!(check(&pod("u"), &claim), Ok(()));
        let refusal = check(&pod("another"), &claim).unwrap_err();
        assert_eq!(refusal.to_string(), "PVC n/p-scratch was not created for pod n/p (pod is not owner)");
    }
}
