//! Profiles that are said twice, in an annotation of old and in a field, are the same.

use super::super::at::At;
use super::annotations::{APP_ARMOR, SECCOMP_OF_CONTAINER, SECCOMP_OF_POD};
use super::containers;

pub(super) fn seccomp(spec: &At, annotations: &At) {
    let compare = |context: &At, key: &str| {
        let defaults = ["runtime/default", "docker/default"];
        if let Some(annotation) = annotations.key(key).given() {
            same(&context.field("seccompProfile"), annotation.text(), &defaults, "seccomp");
        }
    };
    compare(&spec.field("securityContext"), SECCOMP_OF_POD);
    containers::visit(spec, |container| {
        let key = format!("{SECCOMP_OF_CONTAINER}{}", container.text_of("name"));
        compare(&container.field("securityContext"), &key);
    });
}

pub(super) fn app_armor(spec: &At, annotations: &At) {
    if spec.field("os").text_of("name") == "windows" {
        return;
    }
    let of_pod = spec.field("securityContext");
    let of_pod = of_pod.field("appArmorProfile");
    containers::visit(spec, |container| {
        let context = container.field("securityContext");
        let own = context.field("appArmorProfile");
        let profile = if own.exists() { own } else { own.holding(of_pod.value) };
        let key = format!("{APP_ARMOR}{}", container.text_of("name"));
        if let Some(annotation) = annotations.key(&key).given() {
            same(&profile, annotation.text(), &["runtime/default"], "apparmor");
        }
    });
}

fn same(profile: &At, annotation: &str, defaults: &[&str], what: &str) {
    let file = annotation.strip_prefix("localhost/");
    let matches = match profile.text_of("type") {
        "Unconfined" => annotation == "unconfined",
        "RuntimeDefault" => defaults.contains(&annotation),
        "Localhost" => file.is_some(),
        _ => return,
    };
    let own = profile.field("localhostProfile");
    if !matches {
        profile.field("type").forbidden(format!("{what} type in annotation and field must match"));
    } else if profile.text_of("type") == "Localhost" && (!own.exists() || file != Some(own.text())) {
        own.forbidden(format!("{what} profile in annotation and field must match"));
    }
}
