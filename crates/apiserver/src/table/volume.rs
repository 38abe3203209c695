//! The cells of persistent volumes and of claims to them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::reading::{is_being_deleted, items, name, text};

/// As they are printed, in this order.
const ACCESS_MODES: [(&str, &str); 4] = [
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
];

pub(super) fn cells(volume: &Value, now: Timestamp) -> Value {
    json!([
        name(volume),
        quantity(volume, "/spec/capacity/storage"),
        access_modes(volume, "/spec/accessModes"),
        text(volume, "/spec/persistentVolumeReclaimPolicy"),
        phase(volume),
        claim(volume),
        storage_class(volume),
        text_or_unset(volume, "/spec/volumeAttributesClassName"),
        text(volume, "/status/reason"),
        age::of(volume, now),
        text_or_unset(volume, "/spec/volumeMode"),
    ])
}

/// A claim has a capacity once it has a volume.
pub(super) fn claim_cells(claim: &Value, now: Timestamp) -> Value {
    let volume = text(claim, "/spec/volumeName");
    let (capacity, modes) = match volume {
        "" => (String::new(), String::new()),
        _ => (quantity(claim, "/status/capacity/storage"), access_modes(claim, "/status/accessModes")),
    };
    json!([
        name(claim),
        phase(claim),
        volume,
        capacity,
        modes,
        storage_class(claim),
        text_or_unset(claim, "/spec/volumeAttributesClassName"),
        age::of(claim, now),
        text_or_unset(claim, "/spec/volumeMode"),
    ])
}

fn phase(object: &Value) -> &str {
    if is_being_deleted(object) { "Terminating" } else { text(object, "/status/phase") }
}

fn quantity(object: &Value, pointer: &str) -> String {
    match object.pointer(pointer) {
        Some(Value::String(quantity)) => quantity.clone(),
        Some(Value::Number(quantity)) => quantity.to_string(),
        _ => "0".to_owned(),
    }
}

fn access_modes(object: &Value, pointer: &str) -> String {
    let has = |mode: &str| items(object, pointer).any(|item| item == mode);
    let modes: Vec<&str> =
        ACCESS_MODES.iter().filter(|(mode, _)| has(mode)).map(|(_, short)| *short).collect();
    modes.join(",")
}

fn claim(volume: &Value) -> String {
    match volume.pointer("/spec/claimRef") {
        Some(claim) if claim.is_object() => format!("{}/{}", text(claim, "/namespace"), text(claim, "/name")),
        _ => String::new(),
    }
}

fn storage_class(object: &Value) -> &str {
    let annotation = object.pointer("/metadata/annotations/volume.beta.kubernetes.io~1storage-class");
    annotation.and_then(Value::as_str).unwrap_or_else(|| text(object, "/spec/storageClassName"))
}

/// A field that is set to nothing is set.
fn text_or_unset<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or("<unset>")
}
