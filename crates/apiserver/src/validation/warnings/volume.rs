//! What to know about volumes: sources that are no more, amounts that are no number of bytes, and files that would be
//! written over each other.

use serde_json::Value;

use super::node_label::{self, Values};
use super::{Remarks, annotations, container};
use crate::field::Quoted;
use crate::validation::at::At;

const STORAGE_CLASS: (&str, &str) = (
    "volume.beta.kubernetes.io/storage-class",
    "deprecated since v1.8; use \"storageClassName\" attribute instead",
);

pub(super) fn claim(claim: &At, remarks: &mut Remarks) {
    annotations(claim, &[STORAGE_CLASS], remarks);
    claim_spec(&claim.field("spec"), remarks);
}

fn claim_spec(spec: &At, remarks: &mut Remarks) {
    let resources = spec.field("resources");
    for list in ["requests", "limits"] {
        container::fraction(&resources.field(list).key("storage"), remarks);
    }
}

pub(super) fn persistent(volume: &At, remarks: &mut Remarks) {
    let mount_options = (
        "volume.beta.kubernetes.io/mount-options",
        "deprecated since v1.31; use \"mountOptions\" attribute instead",
    );
    annotations(volume, &[STORAGE_CLASS, mount_options], remarks);
    let spec = volume.field("spec");
    if spec.text_of("persistentVolumeReclaimPolicy") == "Recycle" {
        let remark = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic \
                      provisioning.";
        remarks.add(&spec.field("persistentVolumeReclaimPolicy"), remark);
    }
    let affinity = spec.field("nodeAffinity");
    let required = affinity.field("required");
    for term in required.field("nodeSelectorTerms").items() {
        node_label::term(&term, Values::Any, remarks);
    }
    for source in ["cephfs", "photonPersistentDisk", "scaleIO", "storageOS", "glusterfs", "rbd"] {
        gone(&spec, source, remarks);
    }
}

/// Sources that volumes of Pods can no longer have, in the order in which they are looked for.
const GONE: [(&str, &str); 9] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

fn gone(volume: &At, source: &str, remarks: &mut Remarks) {
    let remark = GONE.iter().find(|(name, _)| *name == source);
    if let (Some((_, remark)), Some(place)) = (remark, volume.field(source).given()) {
        remarks.add(&place, remark);
    }
}

pub(super) fn of_pod(spec: &At, remarks: &mut Remarks) {
    let volumes = spec.field("volumes");
    for volume in volumes.items() {
        for (source, _) in GONE {
            gone(&volume, source, remarks);
        }
        let ephemeral = volume.field("ephemeral");
        claim_spec(&ephemeral.field("volumeClaimTemplate").field("spec"), remarks);
    }
    volumes.items().for_each(|volume| overlaps(volume.value, remarks));
}

/// A file in a volume, and what it is of.
struct File<'v> {
    path: &'v str,
    source: String,
}

impl File<'_> {
    fn shown(&self) -> String {
        let path = Quoted(self.path);
        if self.source.is_empty() { path.to_string() } else { format!("{path} ({})", self.source) }
    }

    /// The same, or one below the other.
    fn collides(&self, other: &Self) -> bool {
        let is_below = |one: &str, other: &str| format!("{one}/").starts_with(&format!("{other}/"));
        let is_named = !self.path.is_empty() && !other.path.is_empty();
        is_named && (is_below(self.path, other.path) || is_below(other.path, self.path))
    }
}

fn overlaps(volume: &Value, remarks: &mut Remarks) {
    let name = Quoted(text(volume, "name"));
    let plain =
        [("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName"), ("downwardAPI", "", "")];
    for (field, kind, named) in plain {
        let kind = match kind {
            "" => "DownwardAPI".to_owned(),
            kind => format!("{kind} {}", Quoted(text(&volume[field], named))),
        };
        compare(items(&volume[field], ""), &format!("volume {name} ({kind})"), remarks);
    }
    let mut files = Vec::new();
    for source in volume["projected"]["sources"].as_array().into_iter().flatten() {
        if source.as_object().is_none_or(serde_json::Map::is_empty) {
            remarks.say(format!("volume {name} (Projected) has no sources provided"));
        }
        files.extend(projected(source));
    }
    compare(files, &format!("volume {name} (Projected)"), remarks);
}

fn compare(files: Vec<File>, of: &str, remarks: &mut Remarks) {
    let mut before: Vec<File> = Vec::new();
    for file in files {
        let file = File { path: file.path.trim_end_matches('/'), ..file };
        for other in before.iter().filter(|other| other.collides(&file)) {
            remarks.say(format!("{of}: overlapping paths: {} with {}", file.shown(), other.shown()));
        }
        before.push(file);
    }
}

fn projected(source: &Value) -> Vec<File<'_>> {
    let one = |path, source: &str| vec![File { path, source: source.to_owned() }];
    let Some((field, inside)) = source.as_object().and_then(|fields| fields.iter().next()) else {
        return Vec::new();
    };
    match field.as_str() {
        "configMap" => items(inside, &format!("ConfigMap {}", Quoted(text(inside, "name")))),
        "secret" => items(inside, &format!("Secret {}", Quoted(text(inside, "name")))),
        "downwardAPI" => items(inside, "DownwardAPI"),
        "serviceAccountToken" => one(text(inside, "path"), "ServiceAccountToken"),
        "clusterTrustBundle" => {
            let name = inside.get("name").or_else(|| inside.get("signerName")).and_then(Value::as_str);
            let source = format!("ClusterTrustBundle {}", Quoted(name.unwrap_or_default()));
            one(text(inside, "path"), &source)
        }
        "podCertificate" => [
            ("certificateChainPath", "PodCertificate chain"),
            ("keyPath", "PodCertificate key"),
            ("credentialBundlePath", "PodCertificate credential bundle"),
        ]
        .into_iter()
        .flat_map(|(field, source)| one(text(inside, field), source))
        .collect(),
        _ => Vec::new(),
    }
}

fn items<'v>(source: &'v Value, of: &str) -> Vec<File<'v>> {
    let items = source["items"].as_array().into_iter().flatten();
    items.map(|item| File { path: text(item, "path"), source: of.to_owned() }).collect()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
