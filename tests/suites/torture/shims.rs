//! The processes that hold Pods, found by their words, and killed.

use std::fs;

use anyhow::{Context, Result, ensure};
use kube::{Client, ResourceExt};
use tokio::process::Command;

use crate::census::Census;
use crate::home::Home;
use crate::sandbox;

/// Ends the one of a Pod that is there.
pub(crate) async fn kill_of(home: &Home, client: &Client, pod: &str) -> Result<()> {
    let uid = sandbox::pods(client.clone()).get(pod).await?.uid().context("a uid")?;
    let killed = kill(home, &uid).await?;
    ensure!(killed == 1, "{killed} processes held {pod}");
    Ok(())
}

/// Ends those of the Pod with this uid, and says how many there were.
pub(crate) async fn kill(home: &Home, uid: &str) -> Result<usize> {
    let all = Census::of(home.path())?.processes();
    let holds = |process: &&String| {
        fs::read(format!("{process}/cmdline")).is_ok_and(|line| {
            let line = String::from_utf8_lossy(&line).into_owned();
            line.contains(uid) && line.contains("\0shim\0")
        })
    };
    let found: Vec<_> = all.iter().filter(holds).map(|process| &process["/proc/".len()..]).collect();
    for process in &found {
        Command::new("kill").args(["-9", process]).status().await?;
    }
    Ok(found.len())
}
