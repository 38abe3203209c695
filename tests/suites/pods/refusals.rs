//! What this node does not run it refuses, with the place of the field and the reason.

use anyhow::Result;
use serde_json::{Value, json};

use crate::spec::{With, idle, once};
use crate::stage::{Stage, has_ended, phase};

fn context(context: Value) -> Value {
    once(idle().with(json!({"securityContext": context})))
}

#[tokio::test]
async fn what_needs_an_allowance_is_refused_without_it() -> Result<()> {
    let stage = Stage::set().await?;
    let volume = json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]});
    let cases = [
        ("privileged", context(json!({"privileged": true})), "spec.containers[0].securityContext.privileged"),
        (
            "capability",
            context(json!({"capabilities": {"add": ["SYS_ADMIN"]}})),
            "spec.containers[0].securityContext.capabilities.add[0]",
        ),
        (
            "escalation",
            context(json!({"allowPrivilegeEscalation": true})),
            "spec.containers[0].securityContext.allowPrivilegeEscalation",
        ),
        (
            "unconfined",
            context(json!({"seccompProfile": {"type": "Unconfined"}})),
            "spec.containers[0].securityContext.seccompProfile.type",
        ),
        ("path", once(idle()).with(volume), "spec.volumes[0].hostPath"),
        ("network", once(idle()).with(json!({"hostNetwork": true})), "spec.hostNetwork"),
        ("processes", once(idle()).with(json!({"hostPID": true})), "spec.hostPID"),
        ("messages", once(idle()).with(json!({"hostIPC": true})), "spec.hostIPC"),
        (
            "port",
            once(idle().with(json!({"ports": [{"containerPort": 80, "hostPort": 8080}]}))),
            "spec.containers[0].ports[0].hostPort",
        ),
        (
            "selinux",
            context(json!({"seLinuxOptions": {"level": "s0"}})),
            "spec.containers[0].securityContext.seLinuxOptions",
        ),
        (
            "setting",
            once(idle())
                .with(json!({"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}})),
            "spec.securityContext.sysctls[0].name",
        ),
        (
            "nfs",
            once(idle()).with(json!({"volumes": [{"name": "v", "nfs": {"server": "s", "path": "/"}}]})),
            "spec.volumes[0].nfs",
        ),
    ];
    for (name, spec, _) in &cases {
        stage.create(name, spec.clone()).await?;
    }
    for (name, _, path) in cases {
        let pod = stage.until(name, "refused", has_ended).await?;
        let status = pod.status.clone().unwrap_or_default();
        assert_eq!((phase(&pod), status.reason.as_deref()), ("Failed", Some("UnsupportedPodSpec")), "{name}");
        let message = status.message.unwrap_or_default();
        assert!(message.contains(&format!("{path}: ")), "{name}: {message}");
    }
    stage.finish().await
}
