//! The fields that upstream does not have. Both versions have them under the same names.

use super::*;

/// Sets all fields of ours in the spec, and in the status where there is one.
pub(super) fn with_our_fields(mut object: Value) -> Value {
    let (spec, status) = our_fields(object["kind"].as_str().expect("a kind"));
    for (part, fields) in [("spec", spec), ("status", status)] {
        if let Some(Value::Object(holder)) = object.get_mut(part) {
            holder.extend(fields.as_object().expect("fields").clone());
        }
    }
    object
}

fn our_fields(kind: &str) -> (Value, Value) {
    let ready = json!([{"type": "Ready", "status": "True", "reason": "R", "message": "", "observedGeneration": 2,
        "lastTransitionTime": "2026-01-02T03:04:05Z"}]);
    match kind {
        "Sandbox" => (
            json!({"volumeClaimRetentionPolicy": {"whenDeleted": "Retain"}, "ttlSecondsAfterExpired": 0,
                "runtime": {"container": "main", "access": "Open", "directory": "/app"}}),
            json!({"phase": "Running"}),
        ),
        "SandboxClaim" => (
            json!({"lostSandboxPolicy": "Replace", "lifecycle": {"ttlSecondsAfterExpired": 60}}),
            json!({"phase": "Running", "launch": {
                "type": "Warm", "reason": "Ready", "message": "m", "pool": "python",
                "observedAt": "2026-01-02T03:04:05.000001Z", "boundAt": "2026-01-02T03:04:05.000002Z",
                "readyAt": "2026-01-02T03:04:05.000003Z",
            }}),
        ),
        "SandboxTemplate" => (
            json!({"volumeClaimRetentionPolicy": {"whenDeleted": "Retain"}, "runtime": {"access": "Token"}}),
            json!({"observedGeneration": 2, "conditions": ready}),
        ),
        _ => (
            json!({"minSize": 0, "maxSize": 9, "updateStrategy": {"type": "Recreate", "maxUnavailable": "25%", "maxSurge": 1}}),
            json!({"desiredReplicas": 0, "conditions": ready}),
        ),
    }
}

fn whole(kind: &str) -> Value {
    let group = if kind == "Sandbox" { GROUP } else { EXTENSIONS_GROUP };
    with_our_fields(object(group, "v1beta1", kind, json!({}), Some(json!({}))))
}

/// Else a client of one version could not write, or not see, what the other's did.
#[test]
fn fields_of_ours_are_the_same_in_both_versions() {
    for kind in ["Sandbox", "SandboxClaim", "SandboxTemplate", "SandboxWarmPool"] {
        let (spec, status) = our_fields(kind);
        let shown = down(&whole(kind));
        for (field, value) in spec.as_object().expect("fields") {
            assert_eq!(shown["spec"][field], *value, "{kind} {field}");
        }
        for (field, value) in status.as_object().expect("fields") {
            assert_eq!(shown["status"][field], *value, "{kind} {field}");
        }
    }
}

#[test]
fn a_status_that_v1alpha1_writes_of_a_template_is_the_status_of_the_template() {
    let written = object(
        EXTENSIONS_GROUP,
        "v1alpha1",
        "SandboxTemplate",
        json!({}),
        Some(json!({"observedGeneration": 3, "conditions": []})),
    );
    assert_eq!(up(&written)["status"], written["status"]);
}
