//! Fills in what a definition leaves out, and keeps its status out of the hands of those who write its spec.

use serde_json::{Value, json};

use super::reading::{list, text};

/// The defaults of `apiextensions.k8s.io/v1`.
pub fn default(crd: &mut Value) {
    let Some(spec) = crd.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    if let Some(names) = spec.get_mut("names").filter(|names| names.is_object()) {
        let kind = text(names, "kind").to_owned();
        if text(names, "singular").is_empty() && !kind.is_empty() {
            names["singular"] = kind.to_lowercase().into();
        }
        if text(names, "listKind").is_empty() && !kind.is_empty() {
            names["listKind"] = format!("{kind}List").into();
        }
    }
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec["conversion"] = json!({"strategy": "None"});
    }
    let service = spec.pointer_mut("/conversion/webhook/clientConfig/service");
    if let Some(service) = service.filter(|service| service.is_object())
        && service.get("port").is_none_or(Value::is_null)
    {
        service["port"] = 443.into();
    }
}

/// A new definition has no status but the version that it stores.
pub fn prepare_for_create(crd: &mut Value) {
    if !crd.is_object() {
        return;
    }
    crd["status"] =
        json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": null});
    remember_stored_version(crd);
}

/// A change of a definition leaves its status as it was, but for a new version that it stores.
pub fn prepare_for_update(crd: &mut Value, old: &Value) {
    if !crd.is_object() {
        return;
    }
    crd["status"] = old["status"].clone();
    remember_stored_version(crd);
}

/// A change of the status alone leaves the rest as it was, and forgets no version that objects are stored in.
pub fn prepare_status_for_update(crd: &mut Value, old: &Value) {
    if !crd.is_object() {
        return;
    }
    crd["spec"] = old["spec"].clone();
    remember_stored_version(crd);
}

fn remember_stored_version(crd: &mut Value) {
    let versions = list(&crd["spec"], "versions").iter();
    let Some(stored) = versions.clone().find(|version| version["storage"] == true) else { return };
    let stored = Value::from(text(stored, "name"));
    let status = &mut crd["status"];
    if !status.is_object() {
        *status = json!({});
    }
    match status.get_mut("storedVersions").and_then(Value::as_array_mut) {
        Some(known) if known.contains(&stored) => {}
        Some(known) => known.push(stored),
        None => status["storedVersions"] = json!([stored]),
    }
}
