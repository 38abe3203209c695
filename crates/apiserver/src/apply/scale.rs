//! Managers of an object seen through its `scale`, and back: there is one field to own, and it has another name there.

use std::collections::BTreeMap;

use serde_json::Value;

use super::element::Element;
use super::field_set::{FieldSet, Path};
use super::managed::{Managed, Owned};

/// Where each version of a kind keeps the number of its replicas; none where the version has no scale.
pub type ReplicaPaths = BTreeMap<String, Option<Path>>;

const SCALE: &str = "autoscaling/v1";

/// The entries of the scale of an object with these entries.
pub fn to_scale(entries: Option<&Value>, replicas: &ReplicaPaths) -> Option<Value> {
    let mut managed = Managed::decode(entries).unwrap_or_default();
    managed.owners.retain(|_, owned| match replicas.get(&owned.api_version) {
        Some(Some(path)) => owned.set.contains(path),
        _ => false,
    });
    for owned in managed.owners.values_mut() {
        *owned = Owned { set: of_path(&replicas_of_scale()), api_version: SCALE.into() };
    }
    managed.encode()
}

/// The entries of an object after its scale was written, in a version of the object. Who no longer owns the replicas of
/// the scale loses those of the object; who does so by the scale alone has no time, as in Kubernetes.
pub fn from_scale(
    entries: Option<&Value>,
    scale_entries: Option<&Value>,
    api_version: &str,
    replicas: &ReplicaPaths,
) -> Option<Value> {
    let mut managed = Managed::decode(entries).unwrap_or_default();
    let mut scale = Managed::decode(scale_entries).unwrap_or_default();
    managed.owners.retain(|_, owned| replicas.contains_key(&owned.api_version));
    for (identity, owned) in &mut managed.owners {
        let path = replicas.get(&owned.api_version).and_then(Option::as_ref);
        if let Some(path) = path.filter(|path| owned.set.contains(path))
            && scale.owners.remove(identity).is_none()
        {
            owned.set = owned.set.difference(&of_path(path));
        }
    }
    managed.owners.retain(|_, owned| !owned.set.is_empty());
    let scaled = scale.owners.into_iter().filter(|(_, owned)| owned.set.contains(&replicas_of_scale()));
    if let Some(Some(path)) = replicas.get(api_version) {
        let owned = Owned { set: of_path(path), api_version: api_version.to_owned() };
        managed.owners.extend(scaled.map(|(identity, _)| (identity, owned.clone())));
    }
    managed.encode()
}

fn replicas_of_scale() -> Path {
    vec![Element::field("spec"), Element::field("replicas")]
}

fn of_path(path: &[Element]) -> FieldSet {
    let mut set = FieldSet::default();
    set.insert(path);
    set
}
