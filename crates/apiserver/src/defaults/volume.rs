//! Defaults of the volumes of Pods, and of the sources that PersistentVolumes share with them.

use serde_json::Value;

use super::image;
use super::rule::Constant::{Flag, Number, Object, Text};
use super::rule::{self, Rule, missing, unsaid};

/// `rw-r--r--`
const MODE: i64 = 0o644;

const VOLUME: &[Rule] = &[
    missing("secret", "defaultMode", Number(MODE)),
    missing("configMap", "defaultMode", Number(MODE)),
    missing("downwardAPI", "defaultMode", Number(MODE)),
    unsaid("downwardAPI.items[].fieldRef", "apiVersion", Text("v1")),
    missing("projected", "defaultMode", Number(MODE)),
    missing("projected.sources[].serviceAccountToken", "expirationSeconds", Number(3600)),
    unsaid("projected.sources[].downwardAPI.items[].fieldRef", "apiVersion", Text("v1")),
    missing("ephemeral.volumeClaimTemplate.spec", "volumeMode", Text("Filesystem")),
];

/// Sources that a Pod's volume and a PersistentVolume both can have.
const SOURCE: &[Rule] = &[
    missing("hostPath", "type", Text("")),
    unsaid("iscsi", "iscsiInterface", Text("default")),
    unsaid("rbd", "pool", Text("rbd")),
    unsaid("rbd", "user", Text("admin")),
    unsaid("rbd", "keyring", Text("/etc/ceph/keyring")),
    missing("azureDisk", "cachingMode", Text("ReadWrite")),
    missing("azureDisk", "fsType", Text("ext4")),
    missing("azureDisk", "readOnly", Flag(false)),
    missing("azureDisk", "kind", Text("Shared")),
    unsaid("scaleIO", "storageMode", Text("ThinProvisioned")),
    unsaid("scaleIO", "fsType", Text("xfs")),
];

pub(super) fn apply(pod: &mut Value) {
    rule::each(pod, "spec.volumes[]", &mut |volume| {
        let has_source = volume.iter().any(|(field, value)| field != "name" && !value.is_null());
        if !has_source {
            volume.insert("emptyDir".into(), Object.into());
        }
    });
    rule::apply(pod, "spec.volumes[]", VOLUME);
    rule::apply(pod, "spec.volumes[]", SOURCE);
    rule::each(pod, "spec.volumes[].image", &mut |source| {
        image::default_policy(source, "reference", "pullPolicy");
    });
}

pub(super) fn apply_sources(persistent_volume: &mut Value) {
    rule::apply(persistent_volume, "spec", SOURCE);
}
