//! Persistent volumes.

use serde_json::Value;

use super::at::{At, Report};
use super::labels::Values;
use super::metadata::{self, NameRule};
use super::volume_sources::{self as sources, Source};
use super::{claim, declared, difference, node_selector, paths};
use crate::names;

const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";
/// In the order in which Kubernetes looks for them.
const SOURCES: [Source; 22] = [
    Source::new("hostPath", &[], sources::host_path),
    Source::new("gcePersistentDisk", &["pdName"], sources::disk_partition)
        .shown_as("gcePersistentDisk", "persistentDisk"),
    Source::new("awsElasticBlockStore", &["volumeID"], sources::disk_partition),
    Source::new("glusterfs", &["endpoints", "path"], glusterfs),
    Source::new("flocker", &[], sources::flocker),
    Source::new("nfs", &["server", "path"], sources::nfs),
    Source::plain("rbd", &["monitors", "image"]),
    Source::new("quobyte", &[], sources::quobyte),
    Source::plain("cephfs", &["monitors"]).shown_as("cephFS", "cephfs"),
    Source::new("iscsi", &["targetPortal", "iqn"], iscsi),
    Source::new("cinder", &["volumeID"], secret_elsewhere),
    Source::new("fc", &[], sources::fibre_channel),
    Source::new("flexVolume", &["driver"], sources::flex),
    Source::new("azureFile", &["secretName", "shareName"], azure_file),
    Source::plain("vsphereVolume", &["volumePath"]),
    Source::plain("photonPersistentDisk", &["pdID"]),
    Source::plain("portworxVolume", &["volumeID"]),
    Source::new("azureDisk", &["diskName", "diskURI"], sources::azure_disk),
    Source::plain("scaleIO", &["gateway", "system", "volumeName"]),
    Source::new("local", &[], local),
    Source::new("storageos", &[], storage_os),
    Source::new("csi", &[], csi),
];
/// Sources that know of mount options.
const WITH_OPTIONS: [&str; 13] = [
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "iscsi",
    "cinder",
    "cephfs",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "photonPersistentDisk",
];

pub(super) fn create(volume: &At) {
    whole(volume);
    mount_options(volume);
}

fn whole(volume: &At) {
    metadata::new_of_kubernetes(&volume.field("metadata"), false, NameRule::Dns1123Subdomain);
    spec(&volume.field("spec"));
}

fn spec(spec: &At) {
    if spec.field("accessModes").is_empty() {
        spec.field("accessModes").required("");
    }
    claim::access_modes(&spec.field("accessModes"));
    capacity(&spec.field("capacity"));
    if !spec.text_of("persistentVolumeReclaimPolicy").is_empty() {
        spec.field("persistentVolumeReclaimPolicy").must_be_one_of(&["Delete", "Recycle", "Retain"]);
    }
    if let Some(affinity) = spec.field("nodeAffinity").given() {
        match affinity.field("required").given() {
            Some(selector) => node_selector::selector(&selector, Values::AsLabels),
            None => affinity.field("required").required("must specify required node constraints"),
        }
    }
    sources::exactly_one(spec, &SOURCES);
    if spec.has("local") && !spec.has("nodeAffinity") {
        spec.field("nodeAffinity").required("Local volume requires node affinity");
    }
    let path = spec.field("hostPath");
    let recycled = spec.text_of("persistentVolumeReclaimPolicy") == "Recycle";
    if path.exists() && recycled && is_root(path.text_of("path")) {
        let detail = "may not be 'recycle' for a hostPath mount of '/'";
        spec.field("persistentVolumeReclaimPolicy").forbidden(detail);
    }
    spec.field("storageClassName").may(names::dns_subdomain);
    spec.field("volumeMode").may_be_one_of(&["Block", "Filesystem"]);
    if let Some(class) = spec.field("volumeAttributesClassName").given() {
        if class.text().is_empty() {
            class.required("an empty string is disallowed");
        }
        class.may(names::dns_subdomain);
        if !spec.has("csi") {
            spec.field("csi").required("has to be specified when using volumeAttributesClassName");
        }
    }
}

fn capacity(capacity: &At) {
    if capacity.is_empty() {
        capacity.required("");
    }
    if !capacity.has("storage") || capacity.len() > 1 {
        capacity.not_supported(capacity.value.clone(), &["storage"]);
    }
    for (_, amount) in capacity.entries() {
        claim::not_negative(&amount);
        claim::positive(&amount);
    }
}

/// Whether a path comes down to the root.
fn is_root(path: &str) -> bool {
    path.starts_with('/') && path.split('/').all(|part| ["", ".", ".."].contains(&part))
}

fn glusterfs(source: &At) {
    if let Some(namespace) = source.field("endpointsNamespace").given() {
        if namespace.text().is_empty() {
            let detail = "if the endpointnamespace is set, it must be a valid namespace name";
            namespace.invalid("", detail);
        }
        namespace.may(names::dns_label);
    }
}

fn iscsi(source: &At) {
    sources::iscsi(source, "must be valid format");
    if let Some(secret) = source.field("secretRef").given() {
        secret.field("name").must_be_given();
    }
    if let Some(initiator) = source.field_shown_as("initiatorName", "initiatorname").given() {
        sources::iscsi_name(&initiator, "must be valid format");
    }
}

fn secret_elsewhere(source: &At) {
    if let Some(secret) = source.field("secretRef").given() {
        secret.field("name").must_be_given();
        secret.field("namespace").must_be_given();
    }
}

fn azure_file(source: &At) {
    if let Some(namespace) = source.field("secretNamespace").given() {
        namespace.must_be_given();
    }
}

fn local(source: &At) {
    if source.field("path").must_be_given() {
        paths::no_backsteps(&source.field("path"), source.text_of("path"));
    }
}

fn storage_os(source: &At) {
    sources::storage_os(source);
    secret_elsewhere(source);
}

fn csi(source: &At) {
    sources::csi_driver(&source.field("driver"));
    source.field("volumeHandle").must_be_given();
    let secrets = [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ];
    for name in secrets {
        if let Some(secret) = source.field(name).given() {
            secret.field("name").must_be_given_and(names::dns_subdomain);
            secret.field("namespace").must_be_given_and(names::dns_label);
        }
    }
}

fn mount_options(volume: &At) {
    let metadata = volume.field("metadata");
    let annotations = metadata.field("annotations");
    let spec = volume.field("spec");
    if annotations.has(MOUNT_OPTIONS) && !WITH_OPTIONS.iter().any(|name| spec.has(name)) {
        let detail = "may not specify mount options for this volume type";
        annotations.shown_under(MOUNT_OPTIONS).forbidden(detail);
    }
}

pub(super) fn update(new: &At, old: &Value) {
    create(new);
    whole(new);
    let spec = new.field("spec");
    let source = new.field("spec");
    let kind = "PersistentVolumeSource";
    let mut next = source.value.clone();
    if old["spec"]["csi"].is_object()
        && old["spec"]["csi"].get("controllerExpandSecretRef").is_none()
        && let Some(csi) = next.get_mut("csi").and_then(Value::as_object_mut)
    {
        csi.remove("controllerExpandSecretRef");
    }
    let (before, after) = (declared::lines(kind, &old["spec"]), declared::lines(kind, &next));
    if before != after {
        spec.field("persistentvolumesource").forbidden(format!(
            "spec.persistentvolumesource is immutable after creation\n{}",
            difference::unified(&before, &after)
        ));
    }
    let silent = Report::default();
    let was = spec.other(&old["spec"], &silent);
    let mode = new.field("volumeMode").holding(spec.field("volumeMode").value);
    metadata::immutable(&mode, &was.field("volumeMode"));
    node_affinity(new, &spec.field("nodeAffinity"), &was.field("nodeAffinity"));
    if was.has("volumeAttributesClassName") && !spec.has("volumeAttributesClassName") {
        spec.field("volumeAttributesClassName").forbidden("update from non-nil value to nil is forbidden");
    }
}

/// From where a volume can be reached stays the same, up to the names of labels that were renamed.
fn node_affinity(volume: &At, new: &At, old: &At) {
    if old.exists() && renamed(old.value.clone(), new.value) != *new.value {
        let shown = declared::shown("*VolumeNodeAffinity", new.value);
        let detail = "field is immutable, except for updating from beta label to GA";
        volume.field("nodeAffinity").invalid_shown(shown, detail);
    }
}

/// The old affinity with the new names of labels, where the new one has them.
fn renamed(mut old: Value, new: &Value) -> Value {
    const NAMES: [(&str, &str); 5] = [
        ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
        ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
        ("beta.kubernetes.io/os", "kubernetes.io/os"),
        ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
        ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
    ];
    let terms = old.pointer_mut("/required/nodeSelectorTerms").and_then(Value::as_array_mut);
    for (index, term) in terms.into_iter().flatten().enumerate() {
        for list in ["matchExpressions", "matchFields"] {
            let requirements = term.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
            for (position, requirement) in requirements.enumerate() {
                let key = new.pointer(&format!("/required/nodeSelectorTerms/{index}/{list}/{position}/key"));
                let pair = NAMES.iter().find(|(was, _)| requirement["key"] == *was);
                if let (Some(key), Some((_, now))) = (key, pair)
                    && key == now
                {
                    requirement["key"] = key.clone();
                }
            }
        }
    }
    old
}

pub(super) fn update_status(new: &At, old: &Value) {
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
    if new.field("metadata").text_of("resourceVersion").is_empty() {
        new.field("resourceVersion").required("");
    }
}
