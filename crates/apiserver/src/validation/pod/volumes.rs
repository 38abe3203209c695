//! The volumes of a pod.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::at::At;
use super::super::volume_sources::{self as sources, Source};
use super::super::{claim, paths};
use super::allowances::Allowances;
use super::{containers, environment, projections};
use crate::names;

/// In the order in which Kubernetes looks for them.
const SOURCES: [Source; 30] = [
    Source::new("emptyDir", &[], empty_directory),
    Source::new("hostPath", &[], sources::host_path),
    Source::new("gitRepo", &["repository"], sources::git_repository),
    Source::new("gcePersistentDisk", &["pdName"], sources::disk_partition)
        .shown_as("gcePersistentDisk", "persistentDisk"),
    Source::new("awsElasticBlockStore", &["volumeID"], sources::disk_partition),
    Source::new("secret", &["secretName"], files),
    Source::new("nfs", &["server", "path"], sources::nfs),
    Source::new("iscsi", &["targetPortal", "iqn"], iscsi),
    Source::plain("glusterfs", &["endpoints", "path"]),
    Source::new("flocker", &[], sources::flocker),
    Source::plain("persistentVolumeClaim", &["claimName"]),
    Source::plain("rbd", &["monitors", "image"]),
    Source::new("cinder", &["volumeID"], named_secret),
    Source::plain("cephfs", &["monitors"]).shown_as("cephFS", "cephfs"),
    Source::new("quobyte", &[], sources::quobyte),
    Source::new("downwardAPI", &[], downward).shown_as("downwarAPI", "downwardAPI"),
    Source::new("fc", &[], sources::fibre_channel),
    Source::new("flexVolume", &["driver"], sources::flex),
    Source::new("configMap", &["name"], files),
    Source::plain("azureFile", &["secretName", "shareName"]),
    Source::plain("vsphereVolume", &["volumePath"]),
    Source::plain("photonPersistentDisk", &["pdID"]),
    Source::plain("portworxVolume", &["volumeID"]),
    Source::new("azureDisk", &["diskName", "diskURI"], sources::azure_disk),
    Source::new("storageos", &[], storage_os),
    Source::new("projected", &[], projections::projected),
    Source::plain("scaleIO", &["gateway", "system", "volumeName"]),
    Source::new("csi", &[], csi),
    Source::new("ephemeral", &[], ephemeral),
    Source::new("image", &["reference"], |image| containers::pull_policy(&image.field("pullPolicy"))),
];
/// What a file may tell of its pod.
const FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

/// Gives the sources of those without errors, by name.
pub(super) fn all<'v>(
    volumes: &At<'v, '_>,
    pod: &str,
    allowances: &Allowances,
) -> BTreeMap<&'v str, &'v Value> {
    let created: BTreeSet<String> = volumes
        .items()
        .filter(|volume| !pod.is_empty() && volume.has("ephemeral"))
        .map(|volume| format!("{pod}-{}", volume.text_of("name")))
        .collect();
    let mut good = BTreeMap::new();
    for volume in volumes.items() {
        let before = volume.reported();
        source(&volume, pod, allowances);
        let name = volume.field("name");
        name.must_be_given_and(names::dns_label);
        if good.contains_key(name.text()) {
            name.duplicate(name.text());
        }
        if volume.reported() == before {
            good.insert(name.text(), volume.value);
        }
        let used = volume.field("persistentVolumeClaim");
        let used = used.field("claimName");
        if created.contains(used.text()) {
            used.invalid(used.text(), "must not reference a PVC that gets created for an ephemeral volume");
        }
    }
    good
}

fn source(volume: &At, pod: &str, allowances: &Allowances) {
    let lenient = |source: Source| match source.name {
        "projected" if allowances.token_paths_that_leave => {
            Source { rules: projections::projected_with_any_token_path, ..source }
        }
        _ => source,
    };
    sources::exactly_one(volume, &SOURCES.map(lenient));
    let name = volume.text_of("name");
    let iscsi = volume.field("iscsi");
    if iscsi.has("initiatorName") && name.len() + 1 + iscsi.text_of("targetPortal").len() > 64 {
        let detail = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if \
                      iscsi.initiatorName is specified.";
        volume.field("name").invalid(name, detail);
    }
    let first = SOURCES.iter().find(|source| volume.has(source.name)).map(|source| source.name);
    if first == Some("ephemeral") && !pod.is_empty() && !name.is_empty() {
        let claim = format!("{pod}-{name}");
        for message in names::dns_subdomain(&claim) {
            let detail = format!("PVC name {}: {message}", crate::field::Quoted(&claim));
            volume.field("name").invalid(name, detail);
        }
    }
}

fn empty_directory(source: &At) {
    let limit = source.field("sizeLimit");
    if limit.quantity().is_some_and(|limit| limit.is_negative()) {
        limit.forbidden("SizeLimit field must be a valid resource quantity");
    }
}

fn files(source: &At) {
    paths::file_mode(&source.field("defaultMode"));
    sources::keys_to_paths(&source.field("items"));
}

fn iscsi(source: &At) {
    const UNKNOWN: &str = "must be valid format starting with iqn, eui, or naa";
    sources::iscsi(source, UNKNOWN);
    if let Some(initiator) = source.field_shown_as("initiatorName", "initiatorname").given() {
        sources::iscsi_name(&initiator, UNKNOWN);
    }
}

fn named_secret(source: &At) {
    if let Some(secret) = source.field("secretRef").given() {
        secret.field("name").must_be_given();
    }
}

fn storage_os(source: &At) {
    sources::storage_os(source);
    named_secret(source);
}

fn csi(source: &At) {
    sources::csi_driver(&source.field("driver"));
    if let Some(secret) = source.field("nodePublishSecretRef").given()
        && secret.field("name").must_be_given()
    {
        // Kubernetes leaves out the name of the reference.
        source.field("name").holding(secret.field("name").value).must(names::dns_subdomain);
    }
}

fn ephemeral(source: &At) {
    match source.field("volumeClaimTemplate").given() {
        None => source.field("volumeClaimTemplate").required(""),
        Some(template) => claim::template(&template),
    }
}

fn downward(source: &At) {
    paths::file_mode(&source.field("defaultMode"));
    // Kubernetes does not say which of the files it is.
    source.field("items").items().for_each(|file| downward_file(source, &file));
}

/// A file that tells something of its pod. Errors are reported at `place`.
pub(super) fn downward_file(place: &At, file: &At) {
    let place = place.holding(file.value);
    place.field("path").must_be_given();
    paths::unreserved_path(&place.field("path"), file.text_of("path"));
    let (field, resource) = (place.field("fieldRef"), place.field("resourceFieldRef"));
    if field.exists() {
        environment::pod_field(&field, &FIELDS);
        if resource.exists() {
            let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
            place.invalid("resource", detail);
        }
    } else if resource.exists() {
        environment::resource(&resource, true);
    } else {
        place.required("one of fieldRef and resourceFieldRef is required");
    }
    paths::file_mode(&place.field("mode"));
}
