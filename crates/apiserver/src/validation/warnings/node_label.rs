//! Labels of nodes that others have taken the place of, wherever nodes are chosen by them.

use super::Remarks;
use crate::names;
use crate::validation::at::At;

const DEPRECATED: [(&str, &str); 8] = [
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
];

pub(super) fn deprecation(name: &str) -> Option<&'static str> {
    DEPRECATED.iter().find(|(label, _)| *label == name).map(|(_, remark)| *remark)
}

/// Whether values are looked at that no label can have: they keep a Pod from nodes that it only prefers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    Any,
    Possible,
}

pub(super) fn term(term: &At, values: Values, remarks: &mut Remarks) {
    for expression in term.field("matchExpressions").items() {
        let key = expression.text_of("key");
        if let Some(remark) = deprecation(key) {
            remarks.add(&expression.field("key"), format!("{key} is {remark}"));
        }
        if values == Values::Any {
            continue;
        }
        for value in expression.field("values").items() {
            for why in names::label_value(value.text()) {
                remarks.add(&value, format!("{} is invalid, {why}", value.text()));
            }
        }
    }
}
