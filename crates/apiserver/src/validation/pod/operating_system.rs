//! What does not go with the operating system that a pod is for.

use super::super::at::At;
use super::containers;

const ON_WINDOWS: &str = "cannot be set for a windows pod";

pub(super) fn rules(spec: &At) {
    let Some(system) = spec.field("os").given() else { return };
    match system.text_of("name") {
        "" => system.field("name").required(""),
        "linux" => linux(spec),
        "windows" => windows(spec),
        other => system.not_supported(other, &["linux", "windows"]),
    }
}

fn linux(spec: &At) {
    let refuse = |context: &At| {
        if context.has("windowsOptions") {
            context.field("windowsOptions").forbidden("windows options cannot be set for a linux pod");
        }
    };
    refuse(&spec.field("securityContext"));
    containers::visit(spec, |container| refuse(&container.field("securityContext")));
}

fn windows(spec: &At) {
    let context = spec.field("securityContext");
    refuse(&context, &["appArmorProfile", "seLinuxOptions"]);
    refuse(spec, &["hostUsers"]);
    for name in ["hostPID", "hostIPC"] {
        if spec.flag_of(name) {
            spec.field(name).forbidden(ON_WINDOWS);
        }
    }
    refuse(&context, &["seccompProfile", "fsGroup", "fsGroupChangePolicy"]);
    if !context.field("sysctls").is_empty() {
        context.field("sysctls").forbidden(ON_WINDOWS);
    }
    refuse(spec, &["shareProcessNamespace"]);
    refuse(&context, &["runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy"]);
    refuse(&context, &["seLinuxChangePolicy"]);
    containers::visit(spec, |container| {
        refuse(
            &container.field("securityContext"),
            &[
                "appArmorProfile",
                "seLinuxOptions",
                "seccompProfile",
                "capabilities",
                "readOnlyRootFilesystem",
                "privileged",
                "allowPrivilegeEscalation",
                "procMount",
                "runAsUser",
                "runAsGroup",
            ],
        );
    });
}

fn refuse(place: &At, names: &[&str]) {
    for name in names {
        if place.has(name) {
            place.field(name).forbidden(ON_WINDOWS);
        }
    }
}
