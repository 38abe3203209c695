//! Reads what was measured from the answers of the metrics API and of a kubelet. Pure.

use asb_types::quantity::Quantity;
use serde_json::Value;

use super::{Readings, Usage};

/// A list of PodMetrics: the sum over the containers of each.
pub(super) fn of_metrics(list: &Value) -> Readings {
    let items = list["items"].as_array().into_iter().flatten();
    items.map(|item| (key(&item["metadata"]), of_containers(&item["containers"]))).collect()
}

fn of_containers(containers: &Value) -> Usage {
    let amount = |value: &Value| Quantity::read(value).unwrap_or_default();
    let mut usage = Usage::default();
    for container in containers.as_array().into_iter().flatten() {
        usage.cpu_nano += whole(amount(&container["usage"]["cpu"]).billionths());
        usage.memory_bytes += whole(amount(&container["usage"]["memory"]).whole());
    }
    usage
}

fn whole(amount: i128) -> u64 {
    u64::try_from(amount).unwrap_or_default()
}

/// The summary of a kubelet. A Pod that it has not looked at yet uses nothing, which no Pod does.
pub(super) fn of_summary(summary: &Value) -> Readings {
    let pods = summary["pods"].as_array().into_iter().flatten();
    let usage = |pod: &Value| {
        let memory_bytes = pod["memory"]["workingSetBytes"].as_u64().filter(|bytes| *bytes > 0)?;
        Some(Usage { cpu_nano: pod["cpu"]["usageNanoCores"].as_u64().unwrap_or_default(), memory_bytes })
    };
    pods.filter_map(|pod| Some((key(&pod["podRef"]), usage(pod)?))).collect()
}

fn key(reference: &Value) -> (String, String) {
    let text = |field: &str| reference[field].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(cpu_nano: u64, memory_bytes: u64) -> Readings {
        Readings::from([(("team".to_owned(), "box".to_owned()), Usage { cpu_nano, memory_bytes })])
    }

    #[test]
    fn containers_of_a_pod_add_up() {
        let list = json!({"items": [{"metadata": {"namespace": "team", "name": "box"}, "containers": [
            {"usage": {"cpu": "250m", "memory": "1Mi"}}, {"usage": {"cpu": "1500000n", "memory": "1024"}}]}]});
        assert_eq!(of_metrics(&list), one(251_500_000, 1_049_600));
    }

    #[test]
    fn a_kubelet_tells_for_whole_pods() {
        let measured = json!({"podRef": {"namespace": "team", "name": "box"},
            "cpu": {"usageNanoCores": 42}, "memory": {"workingSetBytes": 4096}});
        let fresh = json!({"podRef": {"namespace": "team", "name": "new"}, "memory": {"workingSetBytes": 0}});
        let summary = json!({"pods": [measured, fresh]});
        assert_eq!(of_summary(&summary), one(42, 4096));
        assert_eq!(of_summary(&json!({})), Readings::new());
    }
}
