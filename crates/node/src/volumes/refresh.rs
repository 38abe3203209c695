//! What must be written anew when a ConfigMap, a Secret, the Pod or a token has changed. Pure.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::payload::{self, Payload, Sources};

/// Of what was last written into a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Fingerprint {
    pub fn of(payload: &Payload) -> Self {
        let mut hasher = DefaultHasher::new();
        payload.hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// By the volume's name. Whoever begins again begins with none: the writer finds out what is there already.
pub type Written = BTreeMap<String, Fingerprint>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refresh {
    Write {
        volume: String,
        payload: Payload,
    },
    /// It stays as it is, for this reason; a volume that was never written keeps its Pod from starting.
    Keep {
        volume: String,
        error: payload::Error,
    },
}

/// What to do with the Pod's volumes, those left out that are as they should be.
pub fn refresh(written: &Written, sources: &Sources<'_>) -> Vec<Refresh> {
    let volumes = sources.pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let decide = |volume: &k8s_openapi::api::core::v1::Volume| {
        let name = volume.name.clone();
        match payload::of(volume, sources) {
            Ok(Some(payload)) if written.get(&name) == Some(&Fingerprint::of(&payload)) => None,
            Ok(Some(payload)) => Some(Refresh::Write { volume: name, payload }),
            Ok(None) => None,
            Err(error) => Some(Refresh::Keep { volume: name, error }),
        }
    };
    volumes.filter_map(decide).collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    use serde_json::json;

    use super::*;
    use crate::blueprint::Whereabouts;
    use crate::volumes::token::Tokens;

    fn config_maps(text: &str) -> BTreeMap<String, ConfigMap> {
        serde_json::from_value(json!({"cm": {"metadata": {}, "data": {"k": text}}})).unwrap()
    }

    fn pod(label: &str) -> Pod {
        let field = json!({"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}});
        let volumes = json!([
            {"name": "config", "configMap": {"name": "cm"}},
            {"name": "labels", "downwardAPI": {"items": [field]}},
            {"name": "scratch", "emptyDir": {}},
        ]);
        serde_json::from_value(
            json!({"metadata": {"labels": {"a": label}}, "spec": {"containers": [], "volumes": volumes}}),
        )
        .unwrap()
    }

    fn step(written: &mut Written, pod: &Pod, config_maps: &BTreeMap<String, ConfigMap>) -> Vec<String> {
        let (secrets, tokens) = (BTreeMap::new(), Tokens::default());
        let (whereabouts, allocatable) = (Whereabouts::default(), &BTreeMap::new());
        let sources =
            Sources { pod, config_maps, secrets: &secrets, whereabouts, allocatable, tokens: &tokens };
        let steps = refresh(written, &sources).into_iter();
        let name = |step| match step {
            Refresh::Write { volume, payload } => {
                written.insert(volume.clone(), Fingerprint::of(&payload));
                volume
            }
            Refresh::Keep { volume, error } => format!("{volume} stays: {error}"),
        };
        steps.map(name).collect()
    }

    #[test]
    fn only_what_changed_is_written() {
        let mut written = Written::new();
        assert_eq!(step(&mut written, &pod("1"), &config_maps("x")), ["config", "labels"]);
        assert_eq!(step(&mut written, &pod("1"), &config_maps("x")), [""; 0]);
        assert_eq!(step(&mut written, &pod("1"), &config_maps("y")), ["config"]);
        assert_eq!(step(&mut written, &pod("2"), &config_maps("y")), ["labels"]);
    }

    #[test]
    fn what_lost_its_object_stays_as_it_is() {
        let mut written = Written::new();
        step(&mut written, &pod("1"), &config_maps("x"));
        let kept = step(&mut written, &pod("1"), &BTreeMap::new());
        assert_eq!(kept, ["config stays: configmap \"cm\" not found"]);
    }
}
