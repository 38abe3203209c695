//! What goes on, in one line on the terminal of `asb up`, as it changes.

use std::sync::Arc;

use asb_node::cache::Cache;
use asb_types::labels::WARM_POOL;
use asb_types::v1beta1::Sandbox;
use kube::{Client, ResourceExt};

use crate::output::progress::Line;

/// Shows it for as long as it is awaited. Without a terminal there is nobody to show it to.
pub(super) async fn show(client: &Client) {
    let sandboxes = Cache::<Sandbox>::all_of(client);
    let mut changes = sandboxes.changes();
    let mut line = Line::default();
    sandboxes.ready().await;
    loop {
        line.show(&text(&sandboxes.all()));
        if changes.changed().await.is_err() {
            return;
        }
    }
}

fn text(sandboxes: &[Arc<Sandbox>]) -> String {
    let phase = |sandbox: &Sandbox| {
        let status = sandbox.status.as_ref().map(|status| serde_json::json!(status.phase));
        status.as_ref().and_then(|phase| phase.as_str()).unwrap_or("Pending").to_lowercase()
    };
    let state = |sandbox: &Sandbox| {
        let is_warm = sandbox.labels().contains_key(WARM_POOL) && phase(sandbox) == "running";
        if is_warm { "warm".to_owned() } else { phase(sandbox) }
    };
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for sandbox in sandboxes {
        *counts.entry(state(sandbox)).or_default() += 1;
    }
    if counts.is_empty() {
        return "no sandboxes yet".to_owned();
    }
    let told: Vec<_> = counts.into_iter().map(|(state, count)| format!("{count} {state}")).collect();
    format!("sandboxes: {}", told.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sandbox(labels: serde_json::Value, phase: &str) -> Arc<Sandbox> {
        let sandbox = json!({
            "apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox",
            "metadata": {"name": "a", "labels": labels},
            "spec": {"podTemplate": {"spec": {"containers": []}}},
            "status": {"phase": phase},
        });
        Arc::new(serde_json::from_value(sandbox).unwrap())
    }

    #[test]
    fn sandboxes_are_counted_by_what_they_do() {
        let all = [
            sandbox(json!({}), "Running"),
            sandbox(json!({}), "Suspended"),
            sandbox(json!({ WARM_POOL: "x" }), "Running"),
            sandbox(json!({}), "Running"),
        ];
        assert_eq!(text(&all), "sandboxes: 2 running, 1 suspended, 1 warm");
        assert_eq!(text(&[]), "no sandboxes yet");
    }
}
