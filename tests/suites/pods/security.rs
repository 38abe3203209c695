//! What containers may do: the filter of system calls, capabilities, their root file system, the kernel's files and settings.

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::spec::{With, idle, once, sh};
use crate::stage::{Stage, is_ready};

fn context(context: Value) -> Value {
    json!({"securityContext": context})
}

/// Whether a filter is in force, whether privileges can be gained, and whether a call is refused that the filter refuses to
/// everybody: making a user namespace.
const FILTER: &str = "grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status | tr '\\n' ' '; unshare -U true 2>/dev/null && echo unshared || echo refused";
const IN_FORCE: &str = "NoNewPrivs:\t1 Seccomp:\t2 refused";

#[tokio::test]
async fn the_filter_is_in_force_for_every_process() -> Result<()> {
    let stage = Stage::set().await?;
    let note = |file: &str| json!({"exec": {"command": ["sh", "-c", format!("({FILTER}) > /tmp/{file}")]}});
    let script = format!("({FILTER}) > /tmp/init; trap 'exit 0' TERM; while :; do sleep 0.1; done");
    let container = sh(&script).with(json!({
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "lifecycle": {"postStart": note("hook")},
        "readinessProbe": note("readiness").with(json!({"periodSeconds": 1})),
        "livenessProbe": note("liveness").with(json!({"periodSeconds": 1})),
        "startupProbe": note("startup").with(json!({"periodSeconds": 1})),
    }));
    stage.start("filtered", once(container)).await?;
    stage.exec_until("filtered", "test -e /tmp/liveness; echo asked", "asked").await?;
    for process in ["init", "hook", "startup", "readiness", "liveness"] {
        let said = stage.exec("filtered", &format!("cat /tmp/{process}")).await?;
        assert_eq!(said, IN_FORCE, "{process}");
    }
    assert_eq!(stage.exec("filtered", FILTER).await?, IN_FORCE, "exec");
    stage.finish().await
}

/// A Pod that says nothing has the filter as well, and so do its init containers and sidecars.
#[tokio::test]
async fn the_filter_is_there_without_asking() -> Result<()> {
    let stage = Stage::set().await?;
    let init = sh(FILTER).with(json!({"name": "first"}));
    let spec = once(sh(FILTER)).with(json!({"initContainers": [init]}));
    assert_eq!(stage.run("silent", spec).await?, IN_FORCE);
    assert_eq!(stage.logs("silent", "first").await?, IN_FORCE);
    let pod =
        json!({"seccompProfile": {"type": "RuntimeDefault"}, "appArmorProfile": {"type": "Unconfined"}});
    assert_eq!(stage.run("pod", once(sh(FILTER)).with(context(pod))).await?, IN_FORCE);
    stage.finish().await
}

const CAPABILITIES: &str = "grep CapEff /proc/self/status | cut -f2";
const CHOWN: u64 = 1;
const NET_RAW: u64 = 1 << 13;
const SYS_CHROOT: u64 = 1 << 18;

#[tokio::test]
async fn capabilities_are_added_and_dropped() -> Result<()> {
    let stage = Stage::set().await?;
    let effective = async |name: &str, capabilities: Value| -> Result<u64> {
        let container = sh(CAPABILITIES).with(context(json!({"capabilities": capabilities})));
        Ok(u64::from_str_radix(&stage.run(name, once(container)).await?, 16)?)
    };
    let usual = effective("usual", json!({})).await?;
    assert_eq!((usual & CHOWN, usual & NET_RAW), (CHOWN, 0), "{usual:x}");
    let more = effective("more", json!({"add": ["NET_RAW", "SYS_CHROOT"]})).await?;
    assert_eq!(more, usual | NET_RAW | SYS_CHROOT);
    assert_eq!(effective("none", json!({"drop": ["ALL"]})).await?, 0);
    assert_eq!(effective("one", json!({"drop": ["ALL"], "add": ["CHOWN"]})).await?, CHOWN);
    assert_eq!(effective("less", json!({"drop": ["CHOWN"]})).await?, usual & !CHOWN);
    stage.finish().await
}

#[tokio::test]
async fn the_root_file_system_can_be_read_only() -> Result<()> {
    let stage = Stage::set().await?;
    let script = "for at in / /usr /etc /tmp; do touch $at/x 2>/dev/null && echo wrote $at; done; touch /v/x && echo volume";
    let container = sh(script).with(context(json!({"readOnlyRootFilesystem": true})));
    let container = container.with(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}));
    let spec = once(container).with(json!({"volumes": [{"name": "v", "emptyDir": {}}]}));
    assert_eq!(stage.run("read-only", spec).await?, "volume");
    let written =
        stage.run("open", once(sh("for at in / /usr /etc /tmp; do touch $at/x && echo wrote; done"))).await?;
    assert_eq!(written.lines().count(), 4);
    stage.finish().await
}

/// A set-user-ID program of the container's own gives nobody another user.
#[tokio::test]
async fn privileges_cannot_be_gained() -> Result<()> {
    let stage = Stage::set().await?;
    let init = sh("cp /usr/bin/id /v/id; chmod 4755 /v/id").with(json!({"name": "first"}));
    let mounts = json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]});
    let main = sh("/v/id -u").with(context(json!({"runAsUser": 1000, "allowPrivilegeEscalation": false})));
    let spec = once(main.with(mounts.clone()))
        .with(json!({"initContainers": [init.with(mounts)], "volumes": [{"name": "v", "emptyDir": {}}]}));
    assert_eq!(stage.run("stays", spec).await?, "1000");
    stage.finish().await
}

#[tokio::test]
async fn kernel_files_are_masked() -> Result<()> {
    let stage = Stage::set().await?;
    let script = "wc -c < /proc/keys; wc -c < /proc/timer_list; ls -A /sys/firmware | wc -l; (echo 1 > /proc/sys/kernel/panic) 2>/dev/null || echo refused";
    let container = sh(script).with(context(json!({"procMount": "Default", "privileged": false})));
    assert_eq!(stage.run("masked", once(container)).await?, "0\n0\n0\nrefused");
    stage.finish().await
}

#[tokio::test]
async fn settings_of_the_kernel_are_the_pods_own() -> Result<()> {
    let stage = Stage::set().await?;
    let sysctls = json!({"sysctls": [
        {"name": "net.ipv4.ip_unprivileged_port_start", "value": "81"}, {"name": "kernel.shm_rmid_forced", "value": "1"}]});
    let script = "cat /proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/kernel/shm_rmid_forced";
    assert_eq!(stage.run("own", once(sh(script)).with(context(sysctls))).await?, "81\n1");
    stage.finish().await
}

/// Root of the Pod is nobody on the machine, and its namespaces are its own.
#[tokio::test]
async fn a_pod_shares_nothing_with_the_machine() -> Result<()> {
    let stage = Stage::set().await?;
    let script = "awk '{print $2}' /proc/self/uid_map; for n in user net ipc uts pid mnt cgroup; do readlink /proc/self/ns/$n; done; ls /sys/class/net | tr '\\n' ' '";
    let own = json!({"hostNetwork": false, "hostPID": false, "hostIPC": false, "hostUsers": false});
    let said = stage.run("own", once(sh(script)).with(own)).await?;
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].trim().parse::<u32>()? >= 2_000_000_000, "{said}");
    for (line, name) in lines[1..].iter().zip(["user", "net", "ipc", "uts", "pid", "mnt", "cgroup"]) {
        let ours = std::fs::read_link(format!("/proc/self/ns/{name}"))?;
        assert_ne!(*line, ours.to_string_lossy(), "{said}");
    }
    stage.finish().await
}

/// What an exec is: under the same limits, as the same user.
#[tokio::test]
async fn what_is_executed_later_is_under_the_same_rules() -> Result<()> {
    let stage = Stage::set().await?;
    let rules = json!({"runAsUser": 1000, "runAsGroup": 2000, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": true});
    stage.create("ruled", once(idle().with(context(rules)))).await?;
    stage.until("ruled", "ready", |pod: &Pod| is_ready(pod)).await?;
    let script = "id -u; id -g; grep -E 'Cap(Eff|Bnd)' /proc/self/status | cut -f2; touch /x 2>/dev/null || echo refused";
    let none = "0000000000000000";
    assert_eq!(stage.exec("ruled", script).await?, format!("1000\n2000\n{none}\n{none}\nrefused"));
    stage.finish().await
}
