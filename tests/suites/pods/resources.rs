//! Limits as the kernel enforces them, and what happens to those who want more.

use anyhow::Result;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use serde_json::{Value, json};

use crate::spec::{With, once, python, sh};
use crate::stage::{Stage, exit, has_ended, phase};

/// What a container reads of its own cgroup, of either version: memory, quota and period of the CPU.
const LIMITS: &str = "
cd /sys/fs/cgroup
if [ -e memory.max ]; then cat memory.max cpu.max
else cat memory/memory.limit_in_bytes; echo $(cat cpu/cpu.cfs_quota_us cpu/cpu.cfs_period_us); fi";

/// How much of the CPU it gets beside others, as one number that grows with it.
const WEIGHT: &str = "cat /sys/fs/cgroup/cpu.weight 2>/dev/null || cat /sys/fs/cgroup/cpu/cpu.shares";

fn limits(limits: Value) -> Value {
    json!({"resources": {"limits": limits}})
}

#[tokio::test]
async fn limits_are_those_of_the_cgroup() -> Result<()> {
    let stage = Stage::set().await?;
    let own = sh(LIMITS).with(limits(json!({"memory": "64Mi", "cpu": "250m"})));
    let policy = json!([{"resourceName": "cpu", "restartPolicy": "NotRequired"}]);
    let own = own.with(json!({"resizePolicy": policy}));
    assert_eq!(stage.run("own", once(own)).await?, "67108864\n25000 100000");
    let pod = once(sh(LIMITS)).with(limits(json!({"memory": "32Mi", "cpu": "500m"})));
    assert_eq!(stage.run("whole", pod).await?, "33554432\n50000 100000");
    stage.finish().await
}

#[tokio::test]
async fn requests_become_weight() -> Result<()> {
    let stage = Stage::set().await?;
    let weight = async |name: &str, cpu: &str| -> Result<u64> {
        let container = sh(WEIGHT).with(json!({"resources": {"requests": {"cpu": cpu}}}));
        Ok(stage.run(name, once(container)).await?.parse()?)
    };
    let (less, more) = (weight("less", "10m").await?, weight("more", "100m").await?);
    assert!(less < more, "{less} {more}");
    stage.finish().await
}

#[tokio::test]
async fn who_takes_too_much_memory_is_killed() -> Result<()> {
    let stage = Stage::set().await?;
    let greedy = python("x = bytearray(256 << 20)").with(limits(json!({"memory": "48Mi"})));
    stage.create("greedy", once(greedy)).await?;
    let pod = stage.until("greedy", "ended", has_ended).await?;
    assert_eq!(exit(&pod), Some((137, "OOMKilled", "")));
    stage.finish().await
}

/// A fork bomb ends at the Pod's limit, however many containers it has.
#[tokio::test]
async fn processes_are_limited() -> Result<()> {
    let stage = Stage::set().await?;
    let bomb = "
import os, time
n = 0
try:
  while n < 20000:
    if os.fork() == 0: time.sleep(60)
    n += 1
except OSError as error: print('stopped', error.errno)
os._exit(0)";
    let stopped = stage.run("bomb", once(python(bomb))).await?;
    assert_eq!(stopped, "stopped 11");
    stage.finish().await
}

/// The node was started with few, as services are.
#[tokio::test]
async fn as_many_files_can_be_open_as_the_machine_lets() -> Result<()> {
    let stage = Stage::set().await?;
    let ours = std::fs::read_to_string("/proc/self/limits")?;
    let line = ours.lines().find(|line| line.starts_with("Max open files")).unwrap_or_default();
    let most = line.split_whitespace().nth(4).unwrap_or_default();
    let (script, expected) = ("ulimit -Sn; ulimit -Hn", format!("{most}\n{most}"));
    let waiting = sh(&format!("{script}; trap 'exit 0' TERM; while :; do sleep 0.1; done"));
    stage.start("open", once(waiting)).await?;
    assert_eq!(stage.logs("open", "main").await?, expected);
    assert_eq!(stage.exec("open", script).await?, expected);
    stage.finish().await
}

/// Reason and message of a Pod that has failed.
fn failure(pod: &Pod) -> (&str, &str) {
    assert_eq!(phase(pod), "Failed");
    let text = |text: fn(&PodStatus) -> Option<&String>| pod.status.as_ref().and_then(text);
    let (reason, message) = (text(|status| status.reason.as_ref()), text(|status| status.message.as_ref()));
    (reason.map_or("", String::as_str), message.map_or("", String::as_str))
}

const FILL: &str = "head -c 3M /dev/zero > $WHERE/fat; while :; do sleep 0.1; done";

#[tokio::test]
async fn who_takes_too_much_of_the_disk_is_evicted() -> Result<()> {
    let stage = Stage::set().await?;
    let fill = |at: &str| sh(FILL).with(json!({"env": [{"name": "WHERE", "value": at}]}));
    let own = fill("/tmp").with(limits(json!({"ephemeral-storage": "1Mi"})));
    stage.create("layer", once(own).with(json!({"terminationGracePeriodSeconds": 1}))).await?;
    let volume = fill("/v").with(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}));
    let volumes = json!({"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}], "terminationGracePeriodSeconds": 1});
    stage.create("volume", once(volume).with(volumes)).await?;
    for (name, words) in [("layer", "ephemeral storage limit"), ("volume", "exceeds the limit \"1Mi\"")] {
        let pod = stage.until(name, "evicted", has_ended).await?;
        let (reason, message) = failure(&pod);
        assert_eq!(reason, "Evicted", "{name}: {message}");
        assert!(message.contains(words), "{name}: {message}");
    }
    stage.finish().await
}

#[tokio::test]
async fn memory_that_is_a_volume_is_limited() -> Result<()> {
    let stage = Stage::set().await?;
    let script =
        "stat -f -c %T /v; head -c 3M /dev/zero > /v/fat 2>/dev/null && echo more || stat -c %s /v/fat";
    let container = sh(script).with(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}));
    let volumes = json!({"volumes": [{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}]});
    let said = stage.run("memory", once(container).with(volumes)).await?;
    assert!(said.starts_with("tmpfs") && said.ends_with("1048576"), "{said}");
    stage.finish().await
}
