//! The page itself: titles on the left, what is the case on the right. Pure.

use asb_types::annotations::TEMPLATE_REF;
use asb_types::v1beta1::{Sandbox, SandboxClaim};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Event, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;

use crate::age;
use crate::events::tabulated;

/// What is known.
pub(super) struct Page<'a> {
    pub(super) sandbox: Option<&'a Sandbox>,
    pub(super) claim: Option<&'a SandboxClaim>,
    pub(super) pod: Option<&'a Pod>,
    pub(super) events: Vec<Event>,
}

impl Page<'_> {
    pub(super) fn written(&self, now: Timestamp, colours: bool) -> String {
        let mut text = String::new();
        if let Some(claim) = self.claim {
            text += &of_claim(claim, now);
        }
        if let Some(sandbox) = self.sandbox {
            text += &of_sandbox(sandbox, now);
        }
        if let Some(pod) = self.pod {
            text += &of_pod(pod, now);
        }
        if !self.events.is_empty() {
            text += "\nEvents\n";
            text += &tabulated(&self.events, now, colours);
        }
        text
    }
}

fn line(title: &str, value: impl AsRef<str>) -> String {
    if value.as_ref().is_empty() { String::new() } else { format!("{title:<12} {}\n", value.as_ref()) }
}

fn of_claim(claim: &SandboxClaim, now: Timestamp) -> String {
    let status = claim.status.clone().unwrap_or_default();
    let mut text = line("Claim", claim.name_any());
    text += &line("Namespace", claim.namespace().unwrap_or_default());
    text += &line("Pool", &claim.spec.warm_pool_ref.name);
    text += &line("Status", status.phase.map(|phase| format!("{phase:?}")).unwrap_or_default());
    if let Some(launch) = &status.launch {
        let how = launch.r#type.map(|how| format!("{how:?}")).unwrap_or_default();
        text += &line("Launch", format!("{how} {}", launch.message).trim());
    }
    text += &line("Age", age::since(claim.metadata.creation_timestamp.as_ref(), now));
    text + &of_conditions(&status.conditions) + "\n"
}

fn of_sandbox(sandbox: &Sandbox, now: Timestamp) -> String {
    let status = sandbox.status.clone().unwrap_or_default();
    let mut text = line("Sandbox", sandbox.name_any());
    text += &line("Namespace", sandbox.namespace().unwrap_or_default());
    text += &line("Status", status.phase.map(|phase| format!("{phase:?}")).unwrap_or_default());
    text += &line("Mode", format!("{:?}", sandbox.spec.operating_mode));
    text += &line("Template", sandbox.annotations().get(TEMPLATE_REF).cloned().unwrap_or_default());
    text += &line("Owner", owner(sandbox));
    text += &line("Expires", sandbox.spec.shutdown_time.clone().map(String::from).unwrap_or_default());
    text += &line("Service", &status.service_fqdn);
    text += &line("Node", &status.node_name);
    text += &line("Addresses", status.pod_ips.join(", "));
    text += &line("Volumes", volumes(sandbox));
    text += &line("Age", age::since(sandbox.metadata.creation_timestamp.as_ref(), now));
    text + &of_conditions(&status.conditions)
}

fn owner(sandbox: &Sandbox) -> String {
    let owners = sandbox.owner_references().iter();
    owners.map(|owner| format!("{}/{}", owner.kind.to_lowercase(), owner.name)).collect::<Vec<_>>().join(", ")
}

fn volumes(sandbox: &Sandbox) -> String {
    let volumes = sandbox.spec.volume_claim_templates.iter();
    let claim = |volume: &str| asb_types::names::volume_claim(volume, &sandbox.name_any());
    volumes.map(|volume| claim(&volume.metadata.name)).collect::<Vec<_>>().join(", ")
}

fn of_conditions(conditions: &[Condition]) -> String {
    let text = conditions.iter().map(|condition| {
        let message = condition.message.replace('\n', " ");
        format!("  {:<13} {:<8} {} {message}", condition.type_, condition.status, condition.reason)
            .trim_end()
            .to_owned()
            + "\n"
    });
    let text: String = text.collect();
    if text.is_empty() { text } else { format!("Conditions\n{text}") }
}

fn of_pod(pod: &Pod, now: Timestamp) -> String {
    let status = pod.status.clone().unwrap_or_default();
    let mut text = format!("\n{}", line("Pod", pod.name_any()));
    text += &line("Phase", status.phase.unwrap_or_default());
    let reason = [status.reason, status.message].into_iter().flatten().collect::<Vec<_>>().join(": ");
    text += &line("Reason", reason);
    let Some(spec) = &pod.spec else { return text };
    text += &line("Runtime", spec.runtime_class_name.clone().unwrap_or_default());
    text += "Containers\n";
    let statuses = status.container_statuses.unwrap_or_default();
    for container in &spec.containers {
        let known = statuses.iter().find(|status| status.name == container.name);
        text += &of_container(container, known, now);
    }
    text
}

fn of_container(container: &Container, known: Option<&ContainerStatus>, now: Timestamp) -> String {
    let image = container.image.as_deref().unwrap_or("-");
    let restarts = known.map_or(0, |known| known.restart_count);
    let restarts = if restarts > 0 { format!(", restarted {restarts} times") } else { String::new() };
    let state = known.map_or_else(|| "not started".to_owned(), |known| state(known, now));
    format!("  {:<13} {image}\n  {:<13} {state}{restarts}\n", container.name, "")
}

fn state(known: &ContainerStatus, now: Timestamp) -> String {
    let Some(state) = &known.state else { return "not started".to_owned() };
    let detail = |reason: Option<&String>, message: Option<&String>| {
        [reason, message]
            .into_iter()
            .flatten()
            .filter(|it| !it.is_empty())
            .cloned()
            .collect::<Vec<_>>()
            .join(": ")
    };
    if let Some(running) = &state.running {
        return format!("running for {}", age::since(running.started_at.as_ref(), now));
    }
    if let Some(ended) = &state.terminated {
        let detail = detail(ended.reason.as_ref(), ended.message.as_ref());
        return format!("ended with {} ({detail})", ended.exit_code);
    }
    let waiting = state.waiting.clone().unwrap_or_default();
    format!("waiting ({})", detail(waiting.reason.as_ref(), waiting.message.as_ref()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sandbox() -> Sandbox {
        serde_json::from_value(json!({
            "apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox",
            "metadata": {"name": "box", "namespace": "team", "creationTimestamp": "2030-01-01T00:00:00Z"},
            "spec": {"podTemplate": {"spec": {"containers": []}}, "shutdownTime": "2030-02-01T00:00:00Z",
                     "volumeClaimTemplates": [{"metadata": {"name": "work"}, "spec": {}}]},
            "status": {"phase": "Running", "serviceFQDN": "box.team.svc.cluster.local", "nodeName": "n1", "podIPs": ["10.0.0.1"],
                "conditions": [{"type": "Ready", "status": "True", "reason": "DependenciesReady", "message": "all is well",
                                "lastTransitionTime": "2030-01-01T00:00:00Z"}]},
        }))
        .unwrap()
    }

    fn pod() -> Pod {
        let ended = json!({"exitCode": 137, "reason": "OOMKilled"});
        let status = |name: &str, state: serde_json::Value| json!({"name": name, "image": "", "imageID": "", "ready": true, "restartCount": 2, "state": state});
        serde_json::from_value(json!({
            "metadata": {"name": "box"},
            "spec": {"runtimeClassName": "gvisor",
                     "containers": [{"name": "main", "image": "python:3.14"}, {"name": "side", "image": "busybox"}]},
            "status": {"phase": "Running", "containerStatuses": [
                status("main", json!({"running": {"startedAt": "2030-01-01T11:00:00Z"}})),
                status("side", json!({"terminated": ended}))]},
        }))
        .unwrap()
    }

    #[test]
    fn a_page_tells_everything_about_a_sandbox() {
        let (sandbox, pod) = (sandbox(), pod());
        let page = Page { sandbox: Some(&sandbox), claim: None, pod: Some(&pod), events: Vec::new() };
        insta::assert_snapshot!(page.written("2030-01-01T12:00:00Z".parse().unwrap(), false));
    }

    #[test]
    fn a_claim_without_a_sandbox_says_why() {
        let claim: SandboxClaim = serde_json::from_value(json!({
            "apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxClaim",
            "metadata": {"name": "mine", "namespace": "team", "creationTimestamp": "2030-01-01T00:00:00Z"},
            "spec": {"warmPoolRef": {"name": "none"}},
            "status": {"phase": "Failed", "conditions": [{"type": "Ready", "status": "False", "reason": "WarmPoolNotFound",
                "message": "there is no pool", "lastTransitionTime": "2030-01-01T00:00:00Z"}]},
        }))
        .unwrap();
        let page = Page { sandbox: None, claim: Some(&claim), pod: None, events: Vec::new() };
        insta::assert_snapshot!(page.written("2030-01-01T12:00:00Z".parse().unwrap(), false));
    }
}
