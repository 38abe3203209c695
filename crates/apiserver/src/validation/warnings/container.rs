//! What to know about the containers of a Pod, but for their ports.

use std::collections::BTreeSet;

use super::{Remarks, annotations};
use crate::field::Quoted;
use crate::validation::at::At;

pub(super) const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

pub(super) fn all(pod: &At, remarks: &mut Remarks) {
    let spec = pod.field("spec");
    for list in LISTS {
        for container in spec.field(list).items() {
            if !container.field("securityContext").has("seccompProfile") {
                let name = container.text_of("name");
                seccomp(pod, &format!("container.seccomp.security.alpha.kubernetes.io/{name}"), remarks);
            }
            let resources = container.field("resources");
            for resource in FRACTIONLESS {
                fraction(&resources.field("limits").key(resource), remarks);
                fraction(&resources.field("requests").key(resource), remarks);
            }
            environment(&container, remarks);
        }
    }
}

/// An annotation that a field has taken the place of.
pub(super) fn seccomp(pod: &At, annotation: &str, remarks: &mut Remarks) {
    let remark = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
    annotations(pod, &[(annotation, remark)], remarks);
}

/// What comes in whole bytes.
const FRACTIONLESS: [&str; 2] = ["memory", "ephemeral-storage"];

pub(super) fn fractions(amounts: &At, remarks: &mut Remarks) {
    for resource in FRACTIONLESS {
        fraction(&amounts.key(resource), remarks);
    }
}

pub(super) fn fraction(amount: &At, remarks: &mut Remarks) {
    if let Some(quantity) = amount.quantity().filter(|quantity| !quantity.is_whole()) {
        remarks.add(amount, format!("fractional byte value \"{quantity}\" is invalid, must be an integer"));
    }
}

/// A variable that is said twice must build on what it was, or the first is as good as not there.
fn environment(container: &At, remarks: &mut Remarks) {
    let mut seen = BTreeSet::new();
    for variable in container.field("env").items() {
        let (name, value) = (variable.text_of("name"), variable.text_of("value"));
        let itself = format!("$({name})");
        let builds_on_it = !variable.has("valueFrom") && value != itself && value.contains(&itself);
        if !seen.insert(name) && !builds_on_it {
            let name = Quoted(name);
            let remark =
                format!("hides previous definition of {name}, which may be dropped when using apply");
            remarks.add(&variable, remark);
        }
    }
}
