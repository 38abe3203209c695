//! The cells of pods, and what their status in one word is.

mod restarts;
mod status;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::status::Summary;
use super::age;
use super::reading::{items, name, text, text_or};

const NONE: &str = "<none>";

pub(super) fn cells(pod: &Value, now: Timestamp) -> Value {
    let summary = Summary::of(pod);
    json!([
        name(pod),
        format!("{}/{}", summary.ready, summary.containers),
        summary.reason,
        summary.restarts.shown(now),
        age::of(pod, now),
        ip(pod),
        text_or(pod, "/spec/nodeName", NONE),
        text_or(pod, "/status/nominatedNodeName", NONE),
        readiness_gates(pod),
    ])
}

/// Rows of pods that have come to an end say so.
pub(super) fn row_conditions(pod: &Value) -> Option<Value> {
    let (reason, message) = match text(pod, "/status/phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]))
}

/// Where the two disagree, the single address is the newer one.
fn ip(pod: &Value) -> &str {
    text_or(pod, "/status/podIP", text_or(pod, "/status/podIPs/0/ip", NONE))
}

fn readiness_gates(pod: &Value) -> String {
    let gates = items(pod, "/spec/readinessGates");
    let count = gates.len();
    if count == 0 {
        return NONE.to_owned();
    }
    let open = gates.filter(|gate| condition(pod, text(gate, "/conditionType")) == Some("True")).count();
    format!("{open}/{count}")
}

/// The status of the first condition of a type.
fn condition<'a>(pod: &'a Value, kind: &str) -> Option<&'a str> {
    let mut conditions = items(pod, "/status/conditions");
    conditions.find(|condition| text(condition, "/type") == kind).map(|condition| text(condition, "/status"))
}
