//! ConfigMaps and Secrets: maps of data with a limit to their size, which may be sealed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::at::At;
use super::metadata::{self, NameRule};
use crate::names;

/// Of all data of a ConfigMap or Secret together.
pub(super) const MOST_OF_DATA: usize = 1024 * 1024;
const SEALED: &str = "field is immutable when `immutable` is set";

pub(super) fn create(map: &At) {
    metadata::new_of_kubernetes(&map.field("metadata"), true, NameRule::Dns1123Subdomain);
    let (data, binary) = (map.field("data"), map.field("binaryData"));
    let mut size = 0;
    for (key, value) in data.entries() {
        value_key(&value, key);
        if binary.has(key) {
            value.invalid(key, "duplicate of key present in binaryData");
        }
        size += value.text().len();
    }
    for (key, value) in binary.entries() {
        value_key(&value, key);
        size += decoded_length(value.text());
    }
    if size > MOST_OF_DATA {
        map.root().too_long(MOST_OF_DATA);
    }
}

pub(super) fn update(new: &At, old: &Value) {
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
    sealed(new, old, &["data", "binaryData"]);
    create(new);
}

/// What a sealed object holds stays as it is, and so does the seal.
pub(super) fn sealed(new: &At, old: &Value, fields: &[&str]) {
    if old["immutable"] != true {
        return;
    }
    if !new.flag_of("immutable") {
        new.field("immutable").forbidden(SEALED);
    }
    for name in fields {
        let field = new.field(name);
        if field.value != &old[*name] {
            field.forbidden(SEALED);
        }
    }
}

/// `value` stands under `key`.
pub(super) fn value_key(value: &At, key: &str) {
    value.must_hold(key, names::config_key);
}

pub(super) fn decoded_length(base64: &str) -> usize {
    STANDARD.decode(base64).map_or(0, |bytes| bytes.len())
}

/// The bytes of a secret's value.
pub(super) fn decoded(base64: &str) -> Vec<u8> {
    STANDARD.decode(base64).unwrap_or_default()
}
