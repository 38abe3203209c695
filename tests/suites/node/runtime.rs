//! A RuntimeClass chooses what a Pod runs under.

use anyhow::Result;

use crate::{BUSYBOX, place, pod, run};

/// gVisor has a kernel log of its own making and its own idea of the kernel's version.
#[tokio::test]
async fn the_runtime_class_gvisor_means_gvisor() -> Result<()> {
    let (cluster, namespace) = place().await?;
    let script = "dmesg; uname -r";
    let mut guarded = pod("guarded", BUSYBOX, script);
    guarded["spec"]["runtimeClassName"] = "gvisor".into();
    let guarded = run(&cluster, &namespace, guarded).await?;
    assert!(guarded.contains("Starting gVisor"), "{guarded}");
    let plain = run(&cluster, &namespace, pod("plain", BUSYBOX, "uname -r")).await?;
    assert_ne!(guarded.lines().last(), plain.lines().last(), "the same kernel");
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn an_unknown_runtime_class_is_refused() -> Result<()> {
    let (cluster, namespace) = place().await?;
    let mut stranger = pod("stranger", BUSYBOX, "true");
    stranger["spec"]["runtimeClassName"] = "no-such-class".into();
    let output =
        cluster.kubectl(&["create", "-n", &namespace, "-f", "-"], Some(&stranger.to_string())).await?;
    assert!(output.stderr.contains("RuntimeClass \"no-such-class\" not found"), "{}", output.stderr);
    namespace.finish().await;
    Ok(())
}
