//! Where the content of a PersistentVolumeClaim comes from, and when a PersistentVolume changed its phase.

use serde_json::Value;

use crate::pointer;

/// A claim has two fields for its source. The old one took anything and ignored most of it; the new one may name what
/// it wants. Readers of either find what can be said in both.
pub(super) fn settle_sources(claim: &mut Value, old: Option<&Value>) {
    let source = |object: &Value| pointer::said(object, "/spec/dataSource").cloned();
    let reference = |object: &Value| pointer::said(object, "/spec/dataSourceRef").cloned();
    if reference(claim).is_some_and(|reference| is_elsewhere(&reference)) {
        pointer::remove(claim, "/spec/dataSourceRef");
    }
    let had_one = old.is_some_and(|old| source(old).is_some() || reference(old).is_some());
    let counts = |source: &Value| had_one || reference(claim).is_some() || was_always_possible(source);
    if !source(claim).is_none_or(|source| counts(&source)) {
        pointer::remove(claim, "/spec/dataSource");
    }
    match (source(claim), reference(claim)) {
        (Some(source), None) => pointer::set(claim, "/spec/dataSourceRef", source),
        (None, Some(mut reference)) => {
            pointer::remove(&mut reference, "/namespace");
            pointer::set(claim, "/spec/dataSource", reference);
        }
        _ => {}
    }
}

/// Sources in other namespaces are a feature that is off.
fn is_elsewhere(source: &Value) -> bool {
    source["namespace"].as_str().is_some_and(|namespace| !namespace.is_empty())
}

fn was_always_possible(source: &Value) -> bool {
    let group = source["apiGroup"].as_str().unwrap_or_default();
    matches!(
        (group, source["kind"].as_str().unwrap_or_default()),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    )
}

/// The time of a volume's last change of phase, unless the writer knows better.
pub(super) fn note_phase(new: &mut Value, old: &Value, now: &str) {
    let (before, after) = (&old["status"], &new["status"]);
    let (was, is) = (before["lastPhaseTransitionTime"].clone(), &after["lastPhaseTransitionTime"]);
    let time = match before["phase"] == after["phase"] {
        true if is.is_null() => was,
        false if is.is_null() || *is == was => now.into(),
        _ => return,
    };
    if !time.is_null() {
        pointer::set(new, "/status/lastPhaseTransitionTime", time);
    }
}
