//! What is kept of a Pod: how it does, and none of what it runs.

use serde_json::Value;

use super::{BadField, View};
use crate::object::Metadata;
use crate::write::Kind;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodView {
    pub metadata: Metadata,
    /// `spec.nodeName`, empty until it is bound.
    pub node: String,
    /// `status.phase`, empty until somebody has written it.
    pub phase: String,
    pub is_ready: bool,
    /// All addresses, the primary one first.
    pub ips: Vec<String>,
    pub scheduled: Option<Scheduled>,
}

/// The Pod's own condition PodScheduled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduled {
    pub status: String,
    pub reason: String,
    pub message: String,
}

impl PodView {
    pub const SUCCEEDED: &str = "Succeeded";
    pub const FAILED: &str = "Failed";
    pub const RUNNING: &str = "Running";

    /// Whether it ended by itself.
    pub fn has_finished(&self) -> bool {
        self.phase == Self::SUCCEEDED || self.phase == Self::FAILED
    }

    /// Whether the scheduler has said that no node can take it.
    pub fn is_unschedulable(&self) -> bool {
        self.scheduled
            .as_ref()
            .is_some_and(|scheduled| scheduled.status == "False" && scheduled.reason == "Unschedulable")
    }
}

impl View for PodView {
    const KIND: Kind = Kind::Pod;

    fn read(metadata: Metadata, object: &Value) -> Result<Self, BadField> {
        let status = &object["status"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let condition = |type_: &str| {
            status["conditions"].as_array().into_iter().flatten().find(|condition| condition["type"] == type_)
        };
        Ok(Self {
            metadata,
            node: text(&object["spec"]["nodeName"]),
            phase: text(&status["phase"]),
            is_ready: condition("Ready").is_some_and(|ready| ready["status"] == "True"),
            ips: addresses(status),
            scheduled: condition("PodScheduled").map(|scheduled| Scheduled {
                status: text(&scheduled["status"]),
                reason: text(&scheduled["reason"]),
                message: text(&scheduled["message"]),
            }),
        })
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

fn addresses(status: &Value) -> Vec<String> {
    let listed = status["podIPs"].as_array().into_iter().flatten();
    listed
        .filter_map(|address| address["ip"].as_str())
        .filter(|ip| !ip.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::views::read;

    #[test]
    fn a_new_pod_has_no_phase_and_no_address() {
        let object = json!({"metadata": {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "1"}, "spec": {}});
        let pod: PodView = read(&object).unwrap().unwrap();
        assert_eq!((pod.phase.as_str(), pod.is_ready, pod.ips.len(), pod.scheduled), ("", false, 0, None));
    }

    #[test]
    fn what_the_kubelet_and_the_scheduler_report_is_kept() {
        let object = json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "1"},
            "spec": {"nodeName": "node-1"},
            "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "conditions": [
                {"type": "Ready", "status": "True"},
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"},
            ]},
        });
        let pod: PodView = read(&object).unwrap().unwrap();
        assert_eq!((pod.node.as_str(), pod.phase.as_str(), pod.is_ready), ("node-1", "Running", true));
        assert_eq!(pod.ips, ["10.0.0.1", "fd00::1"]);
        assert!(pod.is_unschedulable());
    }
}
