//! Which parts of an object each way of writing it leaves alone.

use serde_json::Value;

use crate::identity::GroupKind;
use crate::pointer;

/// What a way of writing (a subresource, or none for the object itself) leaves as it was.
struct Write {
    group: &'static str,
    kind: &'static str,
    subresource: Option<&'static str>,
    keeps: &'static [&'static str],
}

const STATUS: Option<&str> = Some("status");
const DEFINITIONS: &str = "apiextensions.k8s.io";

const fn write(
    kind: &'static str,
    subresource: Option<&'static str>,
    keeps: &'static [&'static str],
) -> Write {
    Write { group: "", kind, subresource, keeps }
}

const WRITES: &[Write] = &[
    write("Pod", None, &["status"]),
    write("Pod", STATUS, &["spec", "metadata.ownerReferences"]),
    write("Service", None, &["status"]),
    write("Service", STATUS, &["spec"]),
    write("PersistentVolumeClaim", None, &["status"]),
    write("PersistentVolumeClaim", STATUS, &["spec"]),
    write("PersistentVolume", None, &["status"]),
    write("PersistentVolume", STATUS, &["spec"]),
    write("Node", None, &["status"]),
    write("Node", STATUS, &["spec"]),
    write("Namespace", None, &["spec.finalizers", "status"]),
    write("Namespace", STATUS, &["spec"]),
    write("Namespace", Some("finalize"), &["status"]),
    Write { group: DEFINITIONS, ..write("CustomResourceDefinition", STATUS, &["spec"]) },
];

/// Takes what this way of writing does not write from the old object.
pub(super) fn keep(kind: &GroupKind, subresource: Option<&str>, new: &mut Value, old: &Value) {
    let keeps = find(kind, subresource).map_or(&[][..], |write| write.keeps);
    for path in keeps {
        pointer::copy(new, old, &format!("/{}", path.replace('.', "/")));
    }
}

fn find(kind: &GroupKind, subresource: Option<&str>) -> Option<&'static Write> {
    let is_it = |write: &&Write| (write.group, write.kind) == (kind.group.as_str(), kind.kind.as_str());
    WRITES.iter().filter(is_it).find(|write| write.subresource == subresource)
}
