//! What to know about a Pod that is made.

use std::collections::BTreeSet;

use super::node_label::{self, Values};
use super::{Remarks, address, annotations, container, port, volume};
use crate::field::Quoted;
use crate::names;
use crate::validation::at::At;

const ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

const NO_POD: &str = "a null labelSelector results in matching no pod";

pub(super) fn created(pod: &At, remarks: &mut Remarks) {
    name(pod, remarks);
    let spec = pod.field("spec");
    nodes(&spec, remarks);
    spread(&spec, remarks);
    annotations(pod, &ANNOTATIONS, remarks);
    volume::of_pod(&spec, remarks);
    duplicates(&spec, "hostAliases", "ip", remarks);
    duplicates(&spec, "imagePullSecrets", "name", remarks);
    for secret in spec.field("imagePullSecrets").items().filter(|it| it.text_of("name").is_empty()) {
        remarks.add(&secret.field("name"), "invalid empty name \"\"");
    }
    container::fractions(&spec.field("overhead"), remarks);
    if !spec.field("securityContext").has("seccompProfile") {
        container::seccomp(pod, "seccomp.security.alpha.kubernetes.io/pod", remarks);
    }
    container::all(pod, remarks);
    port::all(&spec, remarks);
    if spec.integer_of("terminationGracePeriodSeconds") < 0 {
        let remark = "must be >= 0; negative values are invalid and will be treated as 1";
        remarks.add(&spec.field("terminationGracePeriodSeconds"), remark);
    }
    neighbours(&spec, remarks);
    addresses(&spec, remarks);
}

fn name(pod: &At, remarks: &mut Remarks) {
    let metadata = pod.field("metadata");
    let wrong = names::dns_label(metadata.text_of("name"));
    if !wrong.is_empty() {
        let remark = "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is \
                      recommended";
        remarks.add(&metadata.field("name"), format!("{remark}: [{}]", wrong.join(" ")));
    }
}

fn nodes(spec: &At, remarks: &mut Remarks) {
    for (name, place) in spec.field("nodeSelector").entries() {
        if let Some(remark) = node_label::deprecation(name) {
            remarks.add(&place, remark);
        }
    }
    let affinity = spec.field("affinity");
    let affinity = affinity.field("nodeAffinity");
    let required = affinity.field("requiredDuringSchedulingIgnoredDuringExecution");
    for term in required.field("nodeSelectorTerms").items() {
        node_label::term(&term, Values::Any, remarks);
    }
    for term in affinity.field("preferredDuringSchedulingIgnoredDuringExecution").items() {
        node_label::term(&term.field("preference"), Values::Possible, remarks);
    }
}

fn spread(spec: &At, remarks: &mut Remarks) {
    for constraint in spec.field("topologySpreadConstraints").items() {
        let key = constraint.text_of("topologyKey");
        if let Some(remark) = node_label::deprecation(key) {
            remarks.add(&constraint.field("topologyKey"), format!("{key} is {remark}"));
        }
        if !constraint.has("labelSelector") {
            remarks.add(&constraint.field("labelSelector"), NO_POD);
        }
    }
}

fn duplicates(spec: &At, list: &str, field: &str, remarks: &mut Remarks) {
    let mut seen = BTreeSet::new();
    for item in spec.field(list).items() {
        let value = item.text_of(field);
        if !seen.insert(value) {
            remarks.add(&item.field(field), format!("duplicate {field} {}", Quoted(value)));
        }
    }
}

fn neighbours(spec: &At, remarks: &mut Remarks) {
    let affinity = spec.field("affinity");
    for which in ["podAffinity", "podAntiAffinity"] {
        let which = affinity.field(which);
        let required = which.field("requiredDuringSchedulingIgnoredDuringExecution");
        for term in required.items().filter(|term| !term.has("labelSelector")) {
            remarks.add(&term.field("labelSelector"), NO_POD);
        }
        for weighted in which.field("preferredDuringSchedulingIgnoredDuringExecution").items() {
            let term = weighted.field("podAffinityTerm");
            if !term.has("labelSelector") {
                remarks.add(&term.field("labelSelector"), NO_POD);
            }
        }
    }
}

fn addresses(spec: &At, remarks: &mut Remarks) {
    let names = spec.field("dnsConfig");
    names.field("nameservers").items().for_each(|it| address::address(&it, remarks));
    spec.field("hostAliases").items().for_each(|it| address::address(&it.field("ip"), remarks));
}

pub(super) fn status(pod: &At, remarks: &mut Remarks) {
    let status = pod.field("status");
    for list in ["podIPs", "hostIPs"] {
        status.field(list).items().for_each(|it| address::address(&it.field("ip"), remarks));
    }
}
