//! Annotations of pods that mean something to Kubernetes.

use serde_json::Value;

use super::super::at::{At, Report};
use super::super::paths;
use super::allowances::Allowances;
use super::{containers, scheduling};

pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";
pub(super) const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
pub(super) const SECCOMP_OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
pub(super) const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

pub(super) fn all(annotations: &At, spec: &At, allowances: &Allowances) {
    if annotations.has(MIRROR) && spec.text_of("nodeName").is_empty() {
        let mirror = annotations.key(MIRROR);
        mirror.invalid(mirror.text(), "must set spec.nodeName if mirror pod annotation is set");
    }
    tolerations(annotations);
    if !allowances.any_deletion_cost && has_bad_deletion_cost(annotations.value) {
        let cost = annotations.key(DELETION_COST);
        cost.invalid(cost.text(), "must be a 32bit integer");
    }
    seccomp(annotations);
    app_armor(annotations, spec);
}

pub(super) fn has_bad_deletion_cost(annotations: &Value) -> bool {
    let Some(cost) = annotations.get(DELETION_COST).and_then(Value::as_str) else { return false };
    let canonical =
        cost == "0" || cost.starts_with(|first: char| first == '-' || ('1'..='9').contains(&first));
    !canonical || cost.parse::<i32>().is_err()
}

fn tolerations(annotations: &At) {
    let text = annotations.text_of(TOLERATIONS);
    if text.is_empty() {
        return;
    }
    match serde_json::from_str::<Value>(text) {
        Ok(parsed) => scheduling::tolerations(&annotations.shown_under(TOLERATIONS).holding(&parsed)),
        Err(problem) => annotations.invalid(TOLERATIONS, problem.to_string()),
    }
}

fn seccomp(annotations: &At) {
    let profile = |key: &str, text: &str| {
        let place = annotations.shown_under(key);
        match text {
            "runtime/default" | "docker/default" | "unconfined" => {}
            _ => match text.strip_prefix("localhost/") {
                Some(path) => paths::descending_path(&place, path),
                None => place.invalid(text, "must be a valid seccomp profile"),
            },
        }
    };
    if annotations.has(SECCOMP_OF_POD) {
        profile(SECCOMP_OF_POD, annotations.text_of(SECCOMP_OF_POD));
    }
    for (key, value) in annotations.entries().filter(|(key, _)| key.starts_with(SECCOMP_OF_CONTAINER)) {
        profile(key, value.text());
    }
}

fn app_armor(annotations: &At, spec: &At) {
    for (key, value) in annotations.entries() {
        let Some(container) = key.strip_prefix(APP_ARMOR) else { continue };
        let mut found = false;
        containers::visit(spec, |it| found |= it.text_of("name") == container);
        if !found {
            value.invalid(container, "container not found");
        }
        let profile = value.text();
        if !["", "runtime/default", "unconfined"].contains(&profile) && !profile.starts_with("localhost/") {
            value.invalid(
                profile,
                format!("invalid AppArmor profile name: {}", crate::field::Quoted(profile)),
            );
        }
    }
}

/// Some annotations stay as they are for the life of a pod.
pub(super) fn changes(new: &At, old: &Value) {
    let silent = Report::default();
    let before = new.other(old, &silent);
    let fixed = |key: &str| (key == MIRROR, key.starts_with(APP_ARMOR));
    for (key, value) in before.entries() {
        if new.value.get(key) == Some(value.value) {
            continue;
        }
        match fixed(key) {
            (true, _) => new.key(key).forbidden("may not remove or update mirror pod annotation"),
            (_, true) => new.key(key).forbidden("may not remove or update AppArmor annotations"),
            _ => {}
        }
    }
    for (key, value) in new.entries().filter(|(key, _)| !before.has(key)) {
        match fixed(key) {
            (true, _) => value.forbidden("may not add mirror pod annotation"),
            (_, true) => value.forbidden("may not add AppArmor annotations"),
            _ => {}
        }
    }
}
