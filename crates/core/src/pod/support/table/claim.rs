//! Claims that a Pod brings along.

use super::super::Kind;
use super::super::kind::{holding, honoured, kind, only, refused};

const NEW: &str = "a new claim begins empty on this node";
const WRITTEN_BY_SERVER: &str = "the claim's own is written by the API server";

pub(super) const KINDS: &[Kind] = &[
    kind(
        "EphemeralVolumeSource",
        &[holding("volumeClaimTemplate", "PersistentVolumeClaimTemplate", "named after Pod and volume")],
    ),
    kind(
        "PersistentVolumeClaimTemplate",
        &[
            holding("metadata", "ObjectMeta", "labels and annotations of the claim"),
            holding("spec", "PersistentVolumeClaimSpec", "of the claim"),
        ],
    ),
    kind(
        "ObjectMeta",
        &[
            honoured("annotations", "of the claim"),
            refused("creationTimestamp", WRITTEN_BY_SERVER),
            refused("deletionGracePeriodSeconds", WRITTEN_BY_SERVER),
            refused("deletionTimestamp", WRITTEN_BY_SERVER),
            refused("finalizers", "the claim goes with its Pod"),
            refused("generateName", "the claim is named after Pod and volume"),
            refused("generation", WRITTEN_BY_SERVER),
            honoured("labels", "of the claim"),
            refused("managedFields", WRITTEN_BY_SERVER),
            refused("name", "the claim is named after Pod and volume"),
            refused("namespace", "the claim is in the Pod's namespace"),
            refused("ownerReferences", "the claim is owned by its Pod"),
            refused("resourceVersion", WRITTEN_BY_SERVER),
            refused("selfLink", WRITTEN_BY_SERVER),
            refused("uid", WRITTEN_BY_SERVER),
        ],
    ),
    kind(
        "PersistentVolumeClaimSpec",
        &[
            only(
                "accessModes",
                &["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"],
                "no such mode",
            ),
            refused("dataSource", NEW),
            refused("dataSourceRef", NEW),
            holding("resources", "VolumeResourceRequirements", "the size"),
            refused("selector", "volumes are made for claims, not chosen"),
            honoured("storageClassName", "which class makes the volume"),
            refused("volumeAttributesClassName", "volumes of this node have no attributes to choose"),
            only("volumeMode", &["Filesystem"], "block devices are not given to containers"),
            honoured("volumeName", "which volume, where it exists already"),
        ],
    ),
    kind(
        "VolumeResourceRequirements",
        &[
            refused("limits", "the size of a volume is what is requested"),
            honoured("requests", "the size, where it can be enforced"),
        ],
    ),
];
