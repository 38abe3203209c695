//! What is going on in a pod, in one word and three numbers.

use std::collections::HashSet;

use serde_json::Value;

use super::super::reading::{flag, integer, is_being_deleted, items, text, text_or};
use super::condition;
use super::restarts::Restarts;

pub(super) struct Summary {
    pub(super) reason: String,
    pub(super) ready: usize,
    pub(super) containers: usize,
    pub(super) restarts: Restarts,
}

impl Summary {
    pub(super) fn of(pod: &Value) -> Self {
        let sidecars = sidecars(pod);
        let mut summary = Self {
            reason: reason_of_status(pod).to_owned(),
            ready: 0,
            containers: items(pod, "/spec/containers").len() + sidecar_count(pod),
            restarts: Restarts::default(),
        };
        let sidecar_restarts = summary.look_at_init_containers(pod, &sidecars);
        if let Some(restarts) = sidecar_restarts {
            summary.restarts = restarts;
            summary.look_at_containers(pod);
        }
        if is_being_deleted(pod) {
            summary.look_at_deletion(pod);
        }
        summary
    }

    /// The restarts of sidecars if initialization is over, for those count like the ones of other containers.
    fn look_at_init_containers(&mut self, pod: &Value, sidecars: &HashSet<&str>) -> Option<Restarts> {
        let mut sidecar_restarts = Restarts::default();
        for (index, container) in items(pod, "/status/initContainerStatuses").enumerate() {
            let is_sidecar = sidecars.contains(text(container, "/name"));
            self.restarts.add(container);
            if is_sidecar {
                sidecar_restarts.add(container);
            }
            let ended = container.pointer("/state/terminated").filter(|state| state.is_object());
            if ended.is_some_and(|state| integer(state, "/exitCode") == 0) {
                continue;
            }
            if is_sidecar && flag(container, "/started") {
                self.ready += usize::from(flag(container, "/ready"));
                continue;
            }
            self.reason = format!("Init:{}", init_reason(pod, index, container, ended));
            let is_initialized = condition(pod, "Initialized") == Some("True");
            return is_initialized.then_some(sidecar_restarts);
        }
        Some(sidecar_restarts)
    }

    fn look_at_containers(&mut self, pod: &Value) {
        let (mut has_running, mut error) = (false, None);
        for container in items(pod, "/status/containerStatuses").rev() {
            self.restarts.add(container);
            let waiting = text(container, "/state/waiting/reason");
            if !waiting.is_empty() {
                waiting.clone_into(&mut self.reason);
            } else if let Some(ended) = container.pointer("/state/terminated").filter(|it| it.is_object()) {
                self.reason = ending(ended);
                if integer(ended, "/exitCode") != 0 {
                    error = Some(self.reason.clone());
                }
            } else if flag(container, "/ready") && is_running(container) {
                has_running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            self.reason =
                not_yet_completed(pod, has_running, error).unwrap_or_else(|| "Completed".to_owned());
        }
    }

    fn look_at_deletion(&mut self, pod: &Value) {
        if text(pod, "/status/reason") == "NodeLost" {
            "Unknown".clone_into(&mut self.reason);
        } else if !matches!(text(pod, "/status/phase"), "Failed" | "Succeeded") {
            "Terminating".clone_into(&mut self.reason);
        }
    }
}

fn reason_of_status(pod: &Value) -> &str {
    let mut conditions = items(pod, "/status/conditions");
    let gated = |condition: &Value| {
        text(condition, "/type") == "PodScheduled" && text(condition, "/reason") == "SchedulingGated"
    };
    if conditions.any(gated) {
        return "SchedulingGated";
    }
    text_or(pod, "/status/reason", text(pod, "/status/phase"))
}

/// Init containers that keep running beside the others.
fn sidecars(pod: &Value) -> HashSet<&str> {
    let all = items(pod, "/spec/initContainers");
    all.filter(|container| is_sidecar(container)).map(|container| text(container, "/name")).collect()
}

fn sidecar_count(pod: &Value) -> usize {
    items(pod, "/spec/initContainers").filter(|container| is_sidecar(container)).count()
}

fn is_sidecar(container: &Value) -> bool {
    text(container, "/restartPolicy") == "Always"
}

fn is_running(container: &Value) -> bool {
    container.pointer("/state/running").is_some_and(Value::is_object)
}

fn init_reason(pod: &Value, index: usize, container: &Value, ended: Option<&Value>) -> String {
    match (ended, text(container, "/state/waiting/reason")) {
        (Some(ended), _) => ending(ended),
        (None, "" | "PodInitializing") => format!("{index}/{}", items(pod, "/spec/initContainers").len()),
        (None, reason) => reason.to_owned(),
    }
}

fn ending(ended: &Value) -> String {
    match (text(ended, "/reason"), integer(ended, "/signal")) {
        ("", 0) => format!("ExitCode:{}", integer(ended, "/exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// What to say of a pod whose first container has completed while another has not, or has failed.
fn not_yet_completed(pod: &Value, has_running: bool, error: Option<String>) -> Option<String> {
    match error {
        _ if has_running && is_ready(pod) => Some("Running".to_owned()),
        Some(error) => Some(error),
        None => has_running.then(|| "NotReady".to_owned()),
    }
}

fn is_ready(pod: &Value) -> bool {
    let mut conditions = items(pod, "/status/conditions");
    conditions.any(|condition| text(condition, "/type") == "Ready" && text(condition, "/status") == "True")
}
