//! What a Sandbox's Pod says about itself: its name, its containers, how the main one ended. Pure.

use asb_types::annotations::POD_NAME;
use asb_types::v1beta1::Sandbox;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod};
use kube::ResourceExt;

/// The annotation by which a Pod names the container that is meant where none is named.
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";
/// Why a Pod ended whose time was up.
const DEADLINE_EXCEEDED: &str = "DeadlineExceeded";

/// How the main container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub exit_code: i32,
    /// For programs: `Completed`, `Error`, `OOMKilled`, `StartError`, `DeadlineExceeded`.
    pub reason: String,
    /// For people; often empty.
    pub message: String,
}

impl Ending {
    /// Whether it was ended because its time was up.
    pub fn is_timeout(&self) -> bool {
        self.reason == DEADLINE_EXCEEDED
    }

    /// Whether the command never began.
    pub fn is_start_error(&self) -> bool {
        matches!(self.reason.as_str(), "StartError" | "ContainerCannotRun")
    }
}

/// The Pod of a Sandbox, by name.
pub fn pod_name(sandbox: &Sandbox) -> String {
    let adopted = sandbox.annotations().get(POD_NAME).filter(|name| !name.is_empty());
    adopted.cloned().unwrap_or_else(|| asb_types::names::pod(&sandbox.name_any()))
}

/// The container that is meant where none is named.
pub fn default_container(pod: &Pod) -> Option<String> {
    let containers = containers(pod);
    let named = pod.annotations().get(DEFAULT_CONTAINER).filter(|name| containers.contains(name));
    named.or_else(|| containers.first()).cloned()
}

/// The names of the containers, in their order.
pub(crate) fn containers(pod: &Pod) -> Vec<String> {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    containers.map(|container| container.name.clone()).collect()
}

/// What is known of a container.
pub(crate) fn status<'a>(pod: &'a Pod, container: &str) -> Option<&'a ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.iter().find(|status| status.name == container)
}

fn state<'a>(pod: &'a Pod, container: &str) -> Option<&'a ContainerState> {
    status(pod, container)?.state.as_ref()
}

/// Whether the container runs, or has run: there is something to see of it.
pub(crate) fn has_started(pod: &Pod, container: &str) -> bool {
    let state = state(pod, container);
    state.is_some_and(|state| state.running.is_some() || state.terminated.is_some())
}

pub(crate) fn is_running(pod: &Pod, container: &str) -> bool {
    state(pod, container).is_some_and(|state| state.running.is_some())
}

pub(crate) fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

/// How a container ended, if it has. A Pod that ended before its containers began has an ending too.
pub fn ending(pod: &Pod, container: &str) -> Option<Ending> {
    let pod_reason = pod.status.as_ref().and_then(|status| status.reason.clone()).unwrap_or_default();
    let pod_message = pod.status.as_ref().and_then(|status| status.message.clone()).unwrap_or_default();
    let terminated = state(pod, container).and_then(|state| state.terminated.as_ref());
    match terminated {
        Some(end) => {
            let own = end.reason.clone().unwrap_or_default();
            let reason = if pod_reason.is_empty() { own } else { pod_reason };
            let message = end.message.clone().filter(|text| !text.is_empty()).unwrap_or(pod_message);
            Some(Ending { exit_code: end.exit_code, reason, message })
        }
        None if phase(pod) == "Failed" => {
            Some(Ending { exit_code: 128, reason: pod_reason, message: pod_message })
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(status: Value) -> Pod {
        let spec = json!({"containers": [{"name": "main"}, {"name": "side"}]});
        serde_json::from_value(json!({"metadata": {"name": "box"}, "spec": spec, "status": status})).unwrap()
    }

    fn with_state(state: Value) -> Pod {
        let status = json!({"name": "main", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state});
        pod(json!({"phase": "Running", "containerStatuses": [status]}))
    }

    #[test]
    fn the_first_container_is_meant_unless_the_pod_names_another() {
        let mut pod = pod(json!({}));
        assert_eq!(default_container(&pod).as_deref(), Some("main"));
        pod.annotations_mut().insert(DEFAULT_CONTAINER.to_owned(), "side".to_owned());
        assert_eq!(default_container(&pod).as_deref(), Some("side"));
        pod.annotations_mut().insert(DEFAULT_CONTAINER.to_owned(), "none".to_owned());
        assert_eq!(default_container(&pod).as_deref(), Some("main"));
    }

    #[test]
    fn an_adopted_pod_has_its_own_name() {
        let mut sandbox = Sandbox { metadata: kube::api::ObjectMeta::default(), ..Sandbox::default() };
        sandbox.metadata.name = Some("box".to_owned());
        assert_eq!(pod_name(&sandbox), "box");
        sandbox.annotations_mut().insert(POD_NAME.to_owned(), "other".to_owned());
        assert_eq!(pod_name(&sandbox), "other");
    }

    #[test]
    fn how_a_container_ended_is_told_once_it_has() {
        assert_eq!(ending(&with_state(json!({"running": {}})), "main"), None);
        let ended = with_state(json!({"terminated": {"exitCode": 3, "reason": "Error"}}));
        let expected = Ending { exit_code: 3, reason: "Error".to_owned(), message: String::new() };
        assert_eq!(ending(&ended, "main"), Some(expected));
        assert!(has_started(&ended, "main") && !is_running(&ended, "main"));
    }

    #[test]
    fn a_pod_whose_time_was_up_says_so() {
        let mut late = with_state(json!({"terminated": {"exitCode": 137, "reason": "Error"}}));
        late.status.as_mut().unwrap().reason = Some("DeadlineExceeded".to_owned());
        assert!(ending(&late, "main").unwrap().is_timeout());
        let never = pod(json!({"phase": "Failed", "reason": "Evicted", "message": "no room"}));
        assert_eq!(ending(&never, "main").unwrap().exit_code, 128);
    }
}
