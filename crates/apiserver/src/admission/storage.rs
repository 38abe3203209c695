//! DefaultStorageClass, StorageObjectInUseProtection and PersistentVolumeClaimResize: claims find a class, are not lost
//! while in use, and grow only where their class can.

use asb_types::quantity::Quantity;
use serde_json::Value;

use super::{Target, forbidden};
use crate::identity::GroupKind;
use crate::pointer;
use crate::status::Status;
use crate::strategy::Cluster;

const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
const DEFAULT_ANNOTATIONS: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];

/// A claim that names no class gets the default one; the empty name is a name.
pub(super) fn choose_class(claim: &mut Value, cluster: &dyn Cluster) {
    let has_class = claim["metadata"]["annotations"].get(CLASS_ANNOTATION).is_some()
        || pointer::said(claim, "/spec/storageClassName").is_some();
    if let (false, Some(class)) = (has_class, default_class(cluster)) {
        pointer::set(claim, "/spec/storageClassName", class);
    }
}

pub(super) fn protect(object: &mut Value, finalizer: &str) {
    if !pointer::list(object, "/metadata/finalizers").contains(&finalizer.into()) {
        pointer::push(object, "/metadata/finalizers", finalizer);
    }
}

pub(super) fn check_resize(
    target: Target<'_>,
    new: &Value,
    old: &Value,
    cluster: &dyn Cluster,
) -> Result<(), Status> {
    let size = |claim: &Value| Quantity::read(&claim["spec"]["resources"]["requests"]["storage"]);
    let has_grown = matches!((size(new), size(old)), (Some(new), Some(old)) if new > old);
    if !has_grown {
        return Ok(());
    }
    if pointer::text(old, "/status/phase") != "Bound" {
        return Err(forbidden(target, new, "Only bound persistent volume claims can be expanded"));
    }
    if !can_grow(new, old, cluster) {
        let why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must \
                   support resize";
        return Err(forbidden(target, new, why));
    }
    Ok(())
}

fn storage_class() -> GroupKind {
    GroupKind::new("storage.k8s.io", "StorageClass")
}

fn can_grow(new: &Value, old: &Value, cluster: &dyn Cluster) -> bool {
    let class = class_of(new);
    let stored = || cluster.get(&storage_class(), "", class);
    !class.is_empty()
        && class == class_of(old)
        && stored().is_some_and(|it| it["allowVolumeExpansion"] == true)
}

fn class_of(claim: &Value) -> &str {
    let annotated = claim["metadata"]["annotations"].get(CLASS_ANNOTATION).and_then(Value::as_str);
    annotated.unwrap_or_else(|| pointer::text(claim, "/spec/storageClassName"))
}

/// The newest of the classes that are marked, and by name among those of the same time.
fn default_class(cluster: &dyn Cluster) -> Option<String> {
    let mut best: Option<(String, String)> = None;
    cluster.each(&storage_class(), &mut |class| {
        let annotations = &class["metadata"]["annotations"];
        if !DEFAULT_ANNOTATIONS.iter().any(|name| annotations[name] == "true") {
            return;
        }
        let name = pointer::text(class, "/metadata/name").to_owned();
        let made = pointer::text(class, "/metadata/creationTimestamp").to_owned();
        let is_better = |(best_made, best_name): &(String, String)| {
            made > *best_made || (made == *best_made && name < *best_name)
        };
        if best.as_ref().is_none_or(is_better) {
            best = Some((made, name));
        }
    });
    best.map(|(_, name)| name)
}
