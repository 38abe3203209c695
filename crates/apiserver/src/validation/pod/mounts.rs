//! Where the volumes of a pod appear in a container: as directories, or as raw devices.

use std::collections::{BTreeMap, BTreeSet};

use super::super::at::At;
use super::super::paths;
use super::Context;

pub(super) fn volumes(container: &At, context: &Context) {
    let devices = paths(&container.field("volumeDevices"), "devicePath");
    let device_paths: BTreeSet<&str> = devices.values().copied().collect();
    let mounts = container.field("volumeMounts");
    let mut seen = BTreeSet::new();
    for mount in mounts.items() {
        let (name, path) = (mount.field("name"), mount.field("mountPath"));
        name.must_be_given();
        if !context.volumes.contains_key(name.text()) {
            name.not_found(name.text(), "");
        }
        path.must_be_given();
        if !seen.insert(path.text()) {
            path.invalid(path.text(), "must be unique");
        }
        if devices.contains_key(name.text()) {
            name.invalid(name.text(), "must not already exist in volumeDevices");
        }
        if device_paths.contains(path.text()) {
            path.invalid(path.text(), "must not already exist as a path in volumeDevices");
        }
        part(&mount, &mounts);
        propagation(&mount, &mounts, container);
        recursive_read_only(&mount, &mounts);
    }
}

/// A part of the volume. Of these fields, Kubernetes does not say in which of the mounts they stand.
fn part(mount: &At, mounts: &At) {
    let (path, expression) = (mount.text_of("subPath"), mount.text_of("subPathExpr"));
    if !path.is_empty() {
        paths::descending_path(&mounts.field("subPath"), path);
    }
    if !expression.is_empty() {
        if !path.is_empty() {
            let detail = "subPathExpr and subPath are mutually exclusive";
            mount.field("subPathExpr").invalid(expression, detail);
        }
        paths::descending_path(&mounts.field("subPathExpr"), expression);
    }
}

fn propagation(mount: &At, mounts: &At, container: &At) {
    let Some(propagation) = mount.field("mountPropagation").given() else { return };
    let place = mounts.field("mountPropagation").holding(propagation.value);
    place.must_be_one_of(&["Bidirectional", "HostToContainer", "None"]);
    let security = container.field("securityContext");
    if place.text() == "Bidirectional" && !security.flag_of("privileged") {
        place.forbidden("Bidirectional mount propagation is available only to privileged containers");
    }
}

fn recursive_read_only(mount: &At, mounts: &At) {
    let Some(mode) = mount.field("recursiveReadOnly").given() else { return };
    let place = mounts.field("recursiveReadOnly");
    match mode.text() {
        "Disabled" => {}
        "Enabled" | "IfPossible" => {
            if !mount.flag_of("readOnly") {
                place.forbidden("may only be specified when readOnly is true");
            }
            if !["", "None"].contains(&mount.text_of("mountPropagation")) {
                place.forbidden("may only be specified when mountPropagation is None or not specified");
            }
        }
        other => place.not_supported(other, &["Disabled", "Enabled", "IfPossible"]),
    }
}

pub(super) fn devices(container: &At, context: &Context) {
    let mounts = paths(&container.field("volumeMounts"), "mountPath");
    let mount_paths: BTreeSet<&str> = mounts.values().copied().collect();
    let (mut names, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for device in container.field("volumeDevices").items() {
        let (name, path) = (device.field("name"), device.field("devicePath"));
        let volume = context.volumes.get(name.text());
        name.must_be_given();
        if names.contains(name.text()) {
            name.invalid(name.text(), "must be unique");
        }
        match volume {
            None => name.not_found(name.text(), ""),
            Some(source) if is_claim(source) => {}
            Some(_) => {
                let detail =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                name.invalid(name.text(), detail);
            }
        }
        path.must_be_given();
        if seen.contains(path.text()) {
            path.invalid(path.text(), "must be unique");
        }
        if paths::has_backsteps(path.text()) {
            path.invalid(path.text(), "can not contain backsteps ('..')");
        } else {
            seen.insert(path.text());
        }
        if mounts.contains_key(name.text()) {
            name.invalid(name.text(), "must not already exist in volumeMounts");
        }
        if mount_paths.contains(path.text()) {
            path.invalid(path.text(), "must not already exist as a path in volumeMounts");
        }
        if !name.text().is_empty() {
            names.insert(name.text());
        }
    }
}

fn is_claim(source: &serde_json::Value) -> bool {
    source.get("persistentVolumeClaim").is_some() || source.get("ephemeral").is_some()
}

fn paths<'v>(list: &At<'v, '_>, field: &str) -> BTreeMap<&'v str, &'v str> {
    list.items().map(|item| (item.text_of("name"), item.text_of(field))).collect()
}
