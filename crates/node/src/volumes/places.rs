//! Where each volume of a Pod is, for those who mount them. Pure: whether it is there is for others to see to.

use std::collections::BTreeMap;
use std::path::PathBuf;

use k8s_openapi::api::core::v1::{Pod, Volume};

use super::layout::Layout;
use super::names::Refused;
use crate::blueprint::Place;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Name(#[from] Refused),
    #[error("persistentvolumeclaim {0:?} not found")]
    NoClaim(String),
    #[error("volume {0:?} is of a kind that this node does not have")]
    Unsupported(String),
}

/// `claims` are those of the Pod's namespace that are bound, with the directories of their volumes.
pub fn places(
    pod: &Pod,
    layout: &Layout,
    claims: &BTreeMap<String, PathBuf>,
) -> Result<BTreeMap<String, Place>, Error> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.map(|volume| Ok((volume.name.clone(), place(pod, volume, layout, claims)?))).collect()
}

fn place(
    pod: &Pod,
    volume: &Volume,
    layout: &Layout,
    claims: &BTreeMap<String, PathBuf>,
) -> Result<Place, Error> {
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let own = layout.volume(uid, &volume.name)?;
    let claimed = |name: &str| claims.get(name).cloned().ok_or_else(|| Error::NoClaim(name.to_owned()));
    if let Some(source) = &volume.empty_dir {
        let in_memory = source.medium.as_deref() == Some("Memory");
        return Ok(if in_memory { Place::Memory } else { directory(own, false) });
    }
    if follows(volume) {
        return Ok(directory(own, true));
    }
    if let Some(source) = &volume.persistent_volume_claim {
        return Ok(directory(claimed(&source.claim_name)?, source.read_only == Some(true)));
    }
    if volume.ephemeral.is_some() {
        let name = format!("{}-{}", pod.metadata.name.as_deref().unwrap_or_default(), volume.name);
        return Ok(directory(claimed(&name)?, false));
    }
    if let Some(source) = &volume.host_path {
        return Ok(Place::Path { path: PathBuf::from(&source.path), read_only: false, recursive: true });
    }
    if volume.image.is_some() {
        return Ok(directory(layout.runtime(), true));
    }
    Err(Error::Unsupported(volume.name.clone()))
}

/// Whether its files are those of objects.
fn follows(volume: &Volume) -> bool {
    volume.config_map.is_some()
        || volume.secret.is_some()
        || volume.downward_api.is_some()
        || volume.projected.is_some()
}

fn directory(path: PathBuf, read_only: bool) -> Place {
    Place::Path { path, read_only, recursive: false }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn found(volumes: Value) -> Result<BTreeMap<String, Place>, Error> {
        let spec = json!({"containers": [], "volumes": volumes});
        let pod =
            serde_json::from_value(json!({"metadata": {"name": "p", "uid": "u"}, "spec": spec})).unwrap();
        let claims = ["work", "p-scratch"].map(|name| (name.to_owned(), PathBuf::from("/v").join(name)));
        places(&pod, &Layout::new("/n"), &claims.into())
    }

    #[test]
    fn every_kind_of_volume_has_its_place() {
        let all = found(json!([
            {"name": "disk", "emptyDir": {}},
            {"name": "memory", "emptyDir": {"medium": "Memory"}},
            {"name": "config", "configMap": {"name": "c"}},
            {"name": "secret", "secret": {"secretName": "s"}},
            {"name": "token", "projected": {"sources": []}},
            {"name": "labels", "downwardAPI": {"items": []}},
            {"name": "work", "persistentVolumeClaim": {"claimName": "work", "readOnly": true}},
            {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"name": "host", "hostPath": {"path": "/srv"}},
            {"name": "runtime", "image": {"reference": "asb.local/sandboxd"}},
        ]));
        insta::assert_debug_snapshot!(all.unwrap());
    }

    #[test]
    fn what_has_none_is_named() {
        let claim = json!([{"name": "x", "persistentVolumeClaim": {"claimName": "none"}}]);
        assert_eq!(found(claim).unwrap_err().to_string(), "persistentvolumeclaim \"none\" not found");
        let share = json!([{"name": "x", "nfs": {"server": "s", "path": "/"}}]);
        assert_eq!(found(share).unwrap_err(), Error::Unsupported("x".into()));
        assert!(matches!(found(json!([{"name": "../x", "emptyDir": {}}])), Err(Error::Name(_))));
    }
}
