//! Which parts of an object each way of writing it leaves alone.

use serde_json::Value;

use crate::identity::GroupKind;
use crate::pointer;

/// Fields that a writer's server-side apply does not own, since the write has no effect on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resets {
    /// These, and everything in them. Fields of fields have dots between them.
    Only(&'static [&'static str]),
    /// Everything but these; `[]` stands for any item of a list.
    AllBut(&'static [&'static str]),
}

/// What a way of writing (a subresource, or none for the object itself) leaves as it was, and what it resets.
struct Write {
    group: &'static str,
    kind: &'static str,
    subresource: Option<&'static str>,
    keeps: &'static [&'static str],
    resets: Resets,
}

const STATUS: Option<&str> = Some("status");
const DEFINITIONS: &str = "apiextensions.k8s.io";

const fn write(
    kind: &'static str,
    subresource: Option<&'static str>,
    keeps: &'static [&'static str],
) -> Write {
    Write { group: "", kind, subresource, keeps, resets: Resets::Only(keeps) }
}

const WRITES: &[Write] = &[
    write("Pod", None, &["status"]),
    Write {
        resets: Resets::Only(&["spec", "metadata.deletionTimestamp", "metadata.ownerReferences"]),
        ..write("Pod", STATUS, &["spec", "metadata.ownerReferences"])
    },
    Write {
        resets: Resets::AllBut(&["spec.ephemeralContainers"]),
        ..write("Pod", Some("ephemeralcontainers"), &["status"])
    },
    Write {
        resets: Resets::AllBut(&[
            "spec.containers[].resources",
            "spec.containers[].resizePolicy",
            "spec.initContainers[].resources",
            "spec.initContainers[].resizePolicy",
        ]),
        ..write("Pod", Some("resize"), &["status"])
    },
    write("Service", None, &["status"]),
    write("Service", STATUS, &["spec"]),
    write("PersistentVolumeClaim", None, &["status"]),
    write("PersistentVolumeClaim", STATUS, &["spec"]),
    write("PersistentVolume", None, &["status"]),
    write("PersistentVolume", STATUS, &["spec"]),
    write("Node", None, &["status"]),
    write("Node", STATUS, &["spec"]),
    Write { resets: Resets::Only(&["status"]), ..write("Namespace", None, &["spec.finalizers", "status"]) },
    write("Namespace", STATUS, &["spec"]),
    write("Namespace", Some("finalize"), &["status"]),
    Write { group: DEFINITIONS, ..write("CustomResourceDefinition", None, &["status"]) },
    Write { group: DEFINITIONS, ..write("CustomResourceDefinition", STATUS, &["spec"]) },
];

/// What server-side apply through a subresource leaves out of what it owns.
pub fn resets(kind: &GroupKind, subresource: Option<&str>) -> Resets {
    find(kind, subresource).map_or(Resets::Only(&[]), |write| write.resets)
}

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
