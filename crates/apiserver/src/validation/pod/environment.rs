//! The environment of a container: variables, and what their values come from.

use std::collections::BTreeMap;

use super::super::at::At;
use super::super::paths;
use super::containers;
use crate::names;

/// What a variable may tell of its pod.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// What anything may tell of its pod, before it is asked what.
const KNOWN_FIELDS: [&str; 14] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const HUGE_PAGES: [&str; 2] = ["limits.hugepages-", "requests.hugepages-"];
const DIVISORS: [&str; 13] =
    ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

pub(super) fn variables(variables: &At) {
    for variable in variables.items() {
        variable.field("name").must_be_given_and(names::variable_name);
        if let Some(source) = variable.field("valueFrom").given() {
            value_source(&source, !variable.text_of("value").is_empty());
        }
    }
}

fn value_source(source: &At, has_value: bool) {
    let mut count = 0;
    let mut given = |name| source.value.get(name).inspect(|_| count += 1).is_some();
    if given("fieldRef") {
        pod_field(&source.field("fieldRef"), &FIELDS);
    }
    if given("resourceFieldRef") {
        resource(&source.field("resourceFieldRef"), false);
    }
    for name in ["configMapKeyRef", "secretKeyRef"] {
        if given(name) {
            let reference = source.field(name);
            reference.field("name").must(names::dns_subdomain);
            reference.field("key").must_be_given_and(names::config_key);
        }
    }
    if given("fileKeyRef") {
        file(&source.field("fileKeyRef"));
    }
    let one_of = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
    match count {
        0 => source.invalid("", one_of),
        _ if has_value => source.invalid("", "may not be specified when `value` is not empty"),
        1 => {}
        _ => source.invalid("", "may not have more than one field specified at a time"),
    }
}

pub(super) fn pod_field(reference: &At, supported: &[&str]) {
    let path = reference.field("fieldPath");
    if !reference.field("apiVersion").must_be_given() || !path.must_be_given() {
        return;
    }
    let refuse = |why: String| path.invalid(path.text(), format!("error converting fieldPath: {why}"));
    let version = reference.text_of("apiVersion");
    if version != "v1" {
        return refuse(format!("unsupported pod version: {version}"));
    }
    match subscripted(path.text()) {
        Some(("metadata.annotations", key)) => key_of_map(reference, &key.to_lowercase()),
        Some(("metadata.labels", key)) => key_of_map(reference, key),
        Some(_) => refuse(format!("field label does not support subscript: {}", path.text())),
        None => {
            let name = if path.text() == "spec.host" { "spec.nodeName" } else { path.text() };
            if !KNOWN_FIELDS.contains(&name) {
                refuse(format!("field label not supported: {name}"));
            } else if !supported.contains(&name) {
                path.not_supported(name, supported);
            }
        }
    }
}

fn key_of_map(reference: &At, key: &str) {
    reference.must_hold(key, names::qualified_name);
}

/// `labels['key']`, taken apart.
fn subscripted(path: &str) -> Option<(&str, &str)> {
    path.strip_suffix("']")?.split_once("['").filter(|(map, _)| !map.is_empty())
}

/// A resource of a container. In a file, it must be said of which container.
pub(super) fn resource(reference: &At, in_file: bool) {
    let resource = reference.field("resource");
    let name = resource.text();
    let huge_pages = HUGE_PAGES.iter().any(|prefix| name.starts_with(prefix));
    if in_file && reference.text_of("containerName").is_empty() {
        reference.field("containerName").required("");
    } else if name.is_empty() {
        resource.required("");
    } else if !RESOURCES.contains(&name) && !huge_pages {
        resource.not_supported(name, &RESOURCES);
    }
    divisor(&reference.field("divisor"), name, huge_pages);
}

fn divisor(divisor: &At, resource: &str, huge_pages: bool) {
    let Some(quantity) = divisor.quantity().filter(|quantity| !quantity.is_zero()) else { return };
    let (supported, what): (&[&str], _) = match resource {
        "limits.cpu" | "requests.cpu" => (&["1m", "1"], "cpu"),
        "limits.memory" | "requests.memory" => (&DIVISORS, "memory"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => (&DIVISORS, "local ephemeral storage"),
        _ if huge_pages => (&DIVISORS, "hugepages"),
        _ => return,
    };
    if !supported.contains(&quantity.to_string().as_str()) {
        let values = if what == "cpu" { "1m and 1".to_owned() } else { DIVISORS.join(", ") };
        divisor.invalid(
            resource,
            format!("only divisor's values {values} are supported with the {what} resource"),
        );
    }
}

fn file(reference: &At) {
    reference.field("key").must_be_given_and(names::variable_name);
    reference.field("volumeName").must_be_given_and(names::dns_label);
    if reference.field("path").must_be_given() {
        paths::no_backsteps(&reference.field("path"), reference.text_of("path"));
    }
}

/// Where all variables of a map come from.
pub(super) fn sources(sources: &At) {
    for source in sources.items() {
        source.field("prefix").may(names::variable_name);
        let mut count = 0;
        for name in ["configMapRef", "secretRef"] {
            if let Some(reference) = source.field(name).given() {
                count += 1;
                reference.field("name").must_be_given_and(name_or_prefix);
            }
        }
        match count {
            0 => sources.invalid("", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => sources.invalid("", "may not have more than one field specified at a time"),
        }
    }
}

/// Kubernetes takes a name here as the start of one, which may end with a dash.
fn name_or_prefix(name: &str) -> Vec<String> {
    match name.strip_suffix('-') {
        Some(kept) if !kept.is_empty() => {
            let mut kept = kept.to_owned();
            kept.pop();
            names::dns_subdomain(&(kept + "a"))
        }
        _ => names::dns_subdomain(name),
    }
}

/// Variables can be read from files of a volume that starts empty, and of no other.
pub(super) fn files_come_from_empty_directories(spec: &At) {
    let volumes = spec.field("volumes");
    let volumes: BTreeMap<&str, bool> =
        volumes.items().map(|volume| (volume.text_of("name"), volume.has("emptyDir"))).collect();
    containers::visit(spec, |container| {
        for variable in container.field("env").items() {
            let source = variable.field("valueFrom");
            let Some(file) = source.field("fileKeyRef").given() else { continue };
            let volume = file.field("volumeName");
            match volumes.get(volume.text()) {
                None => volume.not_found(volume.text(), ""),
                Some(false) => volume.invalid(volume.text(), "referenced volume must be of type emptyDir"),
                Some(true) => {}
            }
        }
    });
}
