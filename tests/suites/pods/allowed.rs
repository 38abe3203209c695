//! What takes a layer of isolation away, on a node that was started to allow it (`--allow`).

use std::fs;

use anyhow::Result;
use serde_json::{Value, json};

use crate::spec::{With, once, sh};
use crate::stage::Stage;

fn context(context: Value) -> Value {
    json!({"securityContext": context})
}

fn ours(namespace: &str) -> Result<String> {
    Ok(fs::read_link(format!("/proc/self/ns/{namespace}"))?.to_string_lossy().into_owned())
}

#[tokio::test]
async fn the_network_of_the_machine_is_shared() -> Result<()> {
    let stage = Stage::set().await?;
    let script =
        "readlink /proc/self/ns/net; hostname; readlink /proc/self/ns/user; ls /sys/class/net | head -1";
    let container = sh(script)
        .with(json!({"ports": [{"containerPort": 34567, "hostPort": 34567, "hostIP": "127.0.0.1"}]}));
    let said = stage
        .run(
            "host",
            once(container).with(json!({"hostNetwork": true, "dnsPolicy": "ClusterFirstWithHostNet"})),
        )
        .await?;
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines[0], ours("net")?);
    assert_eq!(lines[1], fs::read_to_string("/proc/sys/kernel/hostname")?.trim());
    assert_ne!(lines[2], ours("user")?, "users stay the Pod's own");
    stage.finish().await
}

#[tokio::test]
async fn shared_memory_of_the_machine_is_shared() -> Result<()> {
    let stage = Stage::set().await?;
    let said =
        stage.run("host", once(sh("readlink /proc/self/ns/ipc")).with(json!({"hostIPC": true}))).await?;
    assert_eq!(said, ours("ipc")?);
    stage.finish().await
}

#[tokio::test]
async fn a_privileged_container_has_all_but_the_namespaces() -> Result<()> {
    let stage = Stage::set().await?;
    let script = "grep -E '^(CapEff|Seccomp|NoNewPrivs):' /proc/self/status | cut -f2; readlink /proc/self/ns/user; mount -t tmpfs none /mnt && echo mounted";
    let said = stage.run("mighty", once(sh(script).with(context(json!({"privileged": true}))))).await?;
    let lines: Vec<_> = said.lines().collect();
    assert_eq!((lines[0].trim_start_matches('0').len(), &lines[1..3]), (11, &["0", "0"][..]), "{said}");
    assert_ne!(lines[3], ours("user")?);
    assert_eq!(lines[4], "mounted");
    stage.finish().await
}

#[tokio::test]
async fn files_of_the_machine_are_shown() -> Result<()> {
    let stage = Stage::set().await?;
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("word"), "hello\n")?;
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket"))?;
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let kinds = [
        ("a", at(""), "Directory"),
        ("b", at("word"), "File"),
        ("c", at("new"), "DirectoryOrCreate"),
        ("d", at("fresh"), "FileOrCreate"),
        ("e", at("socket"), "Socket"),
        ("g", at(""), ""),
    ];
    let volume = |(name, path, kind): &(&str, String, &str)| json!({"name": name, "hostPath": {"path": path, "type": kind}});
    let volumes: Vec<_> = kinds.iter().map(volume).collect();
    let mounts: Vec<_> =
        kinds.iter().map(|it| json!({"name": it.0, "mountPath": format!("/v/{}", it.0)})).collect();
    let script = "cat /v/a/word /v/b; test -d /v/c; echo made > /v/d; test -S /v/e; cat /v/g/fresh";
    let spec = once(sh(script).with(json!({"volumeMounts": mounts}))).with(json!({"volumes": volumes}));
    assert_eq!(stage.run("shown", spec).await?, "hello\nhello\nmade");
    assert_eq!(fs::read_to_string(folder.path().join("fresh"))?, "made\n");
    let absent = json!({"volumes": [{"name": "v", "hostPath": {"path": at("absent"), "type": "Directory"}}]});
    stage.create("absent", once(sh("true")).with(absent)).await?;
    assert!(stage.event("absent", "FailedMount").await?.contains("absent"));
    stage.finish().await
}

/// A copy of `id` that belongs to root and has the bit.
#[tokio::test]
async fn privileges_are_gained_by_set_user_id() -> Result<()> {
    let stage = Stage::set().await?;
    let script = "cp /usr/bin/id /tmp/id; chmod 4755 /tmp/id; setpriv --reuid 1000 --clear-groups /tmp/id -u";
    let container = sh(script).with(context(json!({"allowPrivilegeEscalation": true})));
    assert_eq!(stage.run("gains", once(container)).await?, "0");
    stage.finish().await
}

#[tokio::test]
async fn any_capability_can_be_added() -> Result<()> {
    let stage = Stage::set().await?;
    let script = "mount -t tmpfs none /mnt && echo mounted || grep CapEff /proc/self/status";
    let container = sh(script).with(context(json!({"capabilities": {"add": ["SYS_ADMIN"]}})));
    let said = stage.run("mounts", once(container)).await?;
    let effective = said.split_whitespace().last().unwrap_or_default();
    let has_it = || u64::from_str_radix(effective, 16).is_ok_and(|set| set & (1 << 21) != 0);
    assert!(said == "mounted" || has_it(), "{said}");
    stage.finish().await
}

#[tokio::test]
async fn the_filter_can_be_left_out() -> Result<()> {
    let stage = Stage::set().await?;
    let script = "grep ^Seccomp: /proc/self/status | cut -f2; unshare -U true && echo unshared";
    let profile = context(json!({"seccompProfile": {"type": "Unconfined"}}));
    assert_eq!(stage.run("own", once(sh(script).with(profile.clone()))).await?, "0\nunshared");
    assert_eq!(stage.run("pod", once(sh(script)).with(profile)).await?, "0\nunshared");
    stage.finish().await
}

#[tokio::test]
async fn kernel_files_can_be_shown() -> Result<()> {
    let stage = Stage::set().await?;
    let script = "grep -c ' /proc/' /proc/mounts || true";
    let container = sh(script).with(context(json!({"procMount": "Unmasked"})));
    assert_eq!(stage.run("unmasked", once(container).with(json!({"hostUsers": false}))).await?, "0");
    stage.finish().await
}

#[tokio::test]
async fn any_setting_of_the_pods_namespaces_can_be_changed() -> Result<()> {
    let stage = Stage::set().await?;
    let sysctls = context(json!({"sysctls": [{"name": "kernel.msgmax", "value": "4096"}]}));
    assert_eq!(stage.run("set", once(sh("cat /proc/sys/kernel/msgmax")).with(sysctls)).await?, "4096");
    stage.finish().await
}
