//! How a pod may change: not much, and its spec hardly at all.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::at::{At, Report};
use super::super::{declared, difference, metadata};
use super::allowances::Allowances;
use super::annotations;
use super::{containers, metadata_and_spec, scheduling};

const MUTABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
                       `spec.tolerations` (only additions to existing tolerations),\
                       `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

pub(in super::super) fn update(new: &At, old: &Value) {
    let allowances = Allowances::of(old);
    common(new, old, &allowances);
    let spec = new.field("spec");
    let before = &old["spec"];
    let same_containers = same_count(&spec.field("containers"), &before["containers"])
        && same_count(&spec.field("initContainers"), &before["initContainers"]);
    if !same_containers || !deadline(&spec.field("activeDeadlineSeconds"), &before["activeDeadlineSeconds"]) {
        return;
    }
    only_added_tolerations(&spec.field("tolerations"), &before["tolerations"]);
    only_removed_gates(&spec.field("schedulingGates"), &before["schedulingGates"]);
    rest_is_fixed(&spec, before);
}

fn common(new: &At, old: &Value, allowances: &Allowances) {
    let metadata = new.field("metadata");
    metadata::changed_of_kubernetes(&metadata, &old["metadata"]);
    metadata_and_spec(new, allowances);
    annotations::changes(&metadata.field("annotations"), &old["metadata"]["annotations"]);
    annotations::all(&metadata.field("annotations"), &new.field("spec"), allowances);
}

fn same_count(containers: &At, old: &Value) -> bool {
    if containers.len() != old.as_array().map_or(0, Vec::len) {
        containers.forbidden("pod updates may not add or remove containers");
        return false;
    }
    for container in containers.items() {
        container.field("image").must_be_given();
        containers::image_without_padding(&container);
    }
    true
}

/// A deadline can come closer, and not go away. Whether to look any further.
fn deadline(deadline: &At, old: &Value) -> bool {
    let most = i64::from(i32::MAX);
    match (deadline.value.as_i64(), old.as_i64()) {
        (Some(seconds), _) if !(0..=most).contains(&seconds) => deadline.must_be_within(0, most),
        (Some(seconds), Some(before)) if before < seconds => {
            deadline.invalid(seconds, "must be less than or equal to previous value");
        }
        (None, Some(_)) => {
            deadline.invalid(Value::Null, "must not update from a positive integer to nil value");
            return true;
        }
        _ => return true,
    }
    false
}

fn only_added_tolerations(tolerations: &At, old: &Value) {
    let without_seconds = |toleration: &Value| {
        let mut toleration = toleration.clone();
        set(&mut toleration, "tolerationSeconds", None);
        toleration.to_string()
    };
    let kept: BTreeSet<String> =
        tolerations.items().map(|toleration| without_seconds(toleration.value)).collect();
    if old.as_array().into_iter().flatten().any(|toleration| !kept.contains(&without_seconds(toleration))) {
        return tolerations.forbidden("existing toleration can not be modified except its tolerationSeconds");
    }
    scheduling::tolerations(tolerations);
}

fn only_removed_gates(gates: &At, old: &Value) {
    let known: BTreeSet<&str> =
        old.as_array().into_iter().flatten().filter_map(|gate| gate["name"].as_str()).collect();
    for gate in gates.items().filter(|gate| !known.contains(gate.text_of("name"))) {
        let name = gate.text_of("name");
        gate.field("name")
            .forbidden(format!("only deletion is allowed, but found new scheduling gate '{name}'"));
    }
}

fn rest_is_fixed(spec: &At, old: &Value) {
    if spec.value == old {
        return;
    }
    let mut munged = spec.value.clone();
    for list in ["containers", "initContainers"] {
        let images = old[list].as_array().into_iter().flatten().map(|container| container.get("image"));
        let containers = munged.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        containers.zip(images).for_each(|(container, image)| set(container, "image", image));
    }
    for name in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        set(&mut munged, name, old.get(name));
    }
    let grace = "terminationGracePeriodSeconds";
    if old[grace].as_i64().is_some_and(|seconds| seconds < 0) && munged[grace] == 1 {
        set(&mut munged, grace, old.get(grace));
    }
    if old["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
        narrowed(spec, &mut munged, old);
    }
    let (before, after) = (lines(old), lines(&munged));
    if before != after {
        let text = difference::unified(&before, &after);
        spec.forbidden(format!("pod updates may not change fields other than {MUTABLE}\n{text}"));
    }
}

/// A pod that is not scheduled yet can be tied to fewer nodes.
fn narrowed(spec: &At, munged: &mut Value, old: &Value) {
    let selector = spec.field("nodeSelector");
    let kept = |(key, value): (&String, &Value)| selector.value.get(key) == Some(value);
    if !old["nodeSelector"].as_object().into_iter().flatten().all(kept) {
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        selector.invalid(selector.value.clone(), detail);
    }
    set(munged, "nodeSelector", old.get("nodeSelector"));
    let affinity = spec.field("affinity");
    let nodes = affinity.field("nodeAffinity");
    if nodes.value != &old["affinity"]["nodeAffinity"] {
        narrowed_affinity(&nodes, &old["affinity"]["nodeAffinity"]);
        let others = |affinity: &Value| {
            ["podAffinity", "podAntiAffinity"].iter().any(|name| affinity.get(name).is_some())
        };
        let (had, has) = (old.get("affinity"), munged.get("affinity").cloned());
        match (has, had) {
            (None, Some(had)) => {
                munged["affinity"] = serde_json::json!({ "nodeAffinity": had.get("nodeAffinity") });
            }
            (Some(has), None) if !others(&has) => set(munged, "affinity", None),
            _ => set(&mut munged["affinity"], "nodeAffinity", old["affinity"].get("nodeAffinity")),
        }
    }
}

fn narrowed_affinity(nodes: &At, old: &Value) {
    let required = nodes.field(REQUIRED);
    let terms = required.field("nodeSelectorTerms");
    let Some(before) = old[REQUIRED]["nodeSelectorTerms"].as_array() else { return };
    let silent = Report::default();
    if !before.is_empty() && before.len() != terms.len() {
        let shown = declared::shown("[]NodeSelectorTerm", terms.value);
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        return terms.invalid_shown(shown, detail);
    }
    for (term, before) in terms.items().zip(before) {
        if !only_additions(&term, &term.other(before, &silent)) {
            let shown = declared::shown("NodeSelectorTerm", term.value);
            term.invalid_shown(shown, "only additions are allowed (no mutations or deletions)");
        }
    }
}

fn only_additions(term: &At, old: &At) -> bool {
    const LISTS: [&str; 2] = ["matchExpressions", "matchFields"];
    let nothing = |term: &At| LISTS.iter().all(|name| term.field(name).is_empty());
    let kept = |name: &&str| {
        let (before, after) = (old.field(name), term.field(name));
        before.len() <= after.len()
            && before.items().zip(after.items()).all(|(old, new)| old.value == new.value)
    };
    (!nothing(old) || nothing(term)) && LISTS.iter().all(kept)
}

fn set(object: &mut Value, name: &str, value: Option<&Value>) {
    let Some(map) = object.as_object_mut() else { return };
    match value {
        Some(value) => map.insert(name.to_owned(), value.clone()),
        None => map.remove(name),
    };
}

/// A spec as Kubernetes' server holds it, where what is shared with the host is part of the security context.
fn lines(spec: &Value) -> Vec<String> {
    let mut spec = spec.clone();
    if spec["serviceAccountName"].as_str().unwrap_or_default().is_empty() {
        let account = spec.get("serviceAccount").cloned();
        set(&mut spec, "serviceAccountName", account.as_ref());
    }
    let mut context = spec.get("securityContext").cloned().unwrap_or_else(|| serde_json::json!({}));
    for name in ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"] {
        set(&mut context, name, spec.get(name));
    }
    set(&mut spec, "securityContext", Some(&context));
    declared::lines("PodSpec", &spec)
}
