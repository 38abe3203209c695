//! What a machine can run out of, and what people do by mistake: the error says what is wrong, and nothing is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use asb_tests::wait;
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::daemon::Daemon;
use crate::fence::Fence;
use crate::home::Home;
use crate::reach::Reach;
use crate::sandbox::{Sandbox, exec, spec};

/// A mount that goes with this value.
struct Mounted {
    at: PathBuf,
}

impl Mounted {
    fn new(arguments: &[&str], at: &Path) -> Result<Self> {
        run("mount", arguments, at)?;
        Ok(Self { at: at.to_owned() })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Whoever is still there keeps it, and nobody sees it any more.
        let _ = Command::new("umount").arg("--lazy").arg(&self.at).status();
    }
}

fn run(program: &str, arguments: &[&str], at: &Path) -> Result<()> {
    let output = Command::new(program).args(arguments).arg(at).output()?;
    ensure!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "default")
}

/// A ConfigMap of so many bytes.
fn large(name: &str, bytes: usize) -> Result<ConfigMap> {
    Ok(serde_json::from_value(json!({"metadata": {"name": name}, "data": {"x": "x".repeat(bytes)}}))?)
}

/// Makes large objects until one is refused: those that were acknowledged, and the refusal.
async fn fill(client: &Client, bytes: usize) -> Result<(Vec<String>, kube::Error)> {
    let mut acknowledged = Vec::new();
    for number in 0..1000 {
        let name = format!("large-{number}");
        match maps(client).create(&PostParams::default(), &large(&name, bytes)?).await {
            Ok(_) => acknowledged.push(name),
            Err(error) => return Ok((acknowledged, error)),
        }
    }
    anyhow::bail!("there is room without end")
}

async fn must_have(client: &Client, names: &[String]) -> Result<()> {
    let there = maps(client).list_metadata(&ListParams::default()).await?;
    let there: Vec<String> = there.iter().map(ResourceExt::name_any).collect();
    let lost: Vec<_> = names.iter().filter(|name| !there.contains(name)).collect();
    ensure!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_daemon_is_refused_and_the_first_goes_on() -> Result<()> {
    let home = Home::new()?;
    let (daemon, client) = Daemon::start(&home).await?;
    let reach = Reach::to(client);
    let mut sandbox = Sandbox::create(&reach, "box", spec(json!({}))).await?;
    sandbox.ready(&reach).await?;
    let pid = daemon.id().context("it runs")?;
    let refused = home.asb(&["up", "--listen", "127.0.0.1:0"]).await?;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains(&format!("an Agent Sandbox (process {pid}) serves")),
        "{}",
        refused.stderr
    );
    sandbox.write(&reach).await?;
    sandbox.verify(&reach, 0).await?;
    sandbox.delete(&reach).await?;
    home.finish(daemon).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_cannot_be_written_is_named_and_stays_as_it_is() -> Result<()> {
    let home = Home::new()?;
    let (daemon, client) = Daemon::start(&home).await?;
    maps(&client).create(&PostParams::default(), &large("kept", 10)?).await?;
    daemon.stop().await?;
    let refused = {
        let _bound = Mounted::new(&["--bind", &home.path().display().to_string()], home.path())?;
        run("mount", &["-o", "remount,bind,ro"], home.path())?;
        home.asb(&["up", "--listen", "127.0.0.1:0"]).await?
    };
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let place = home.path().display().to_string();
    assert!(refused.stderr.contains(&place), "{}", refused.stderr);
    assert!(refused.stderr.to_lowercase().contains("read-only file system"), "{}", refused.stderr);
    let (daemon, client) = Daemon::start(&home).await?;
    must_have(&client, &["kept".to_owned()]).await?;
    home.finish(daemon).await
}

/// The data directory is a small file system of its own, which fills.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_what_is_new_and_keeps_what_there_is() -> Result<()> {
    let home = Home::new()?;
    let _small = Mounted::new(&["-t", "tmpfs", "-o", "size=96m,mode=700", "tmpfs"], home.path())?;
    let (mut daemon, client) = Daemon::start(&home).await?;
    let reach = Reach::to(client.clone());
    let mut sandbox = Sandbox::create(&reach, "box", spec(json!({}))).await?;
    sandbox.ready(&reach).await?;
    sandbox.write(&reach).await?;
    let (acknowledged, refusal) = fill(&client, 900_000).await?;
    let said = refusal.to_string().to_lowercase();
    assert!(said.contains("no space left") || said.contains("full"), "{refusal:?}");
    daemon.work(Duration::ZERO).await?;
    must_have(&client, &acknowledged).await?;
    assert_eq!(exec(&client, "box", &["echo", "still here"]).await?, "still here\n");
    // Also for one who is started now.
    daemon.kill().await?;
    let mut daemon = Daemon::spawn(&home)?;
    if let Ok(client) = daemon.ready().await {
        must_have(&client, &acknowledged).await?;
        daemon.kill().await?;
    } else {
        let said = daemon.log().to_lowercase();
        assert!(said.contains("no space left"), "{said}");
    }
    run("mount", &["-o", "remount,size=256m"], home.path())?;
    let (daemon, client) = Daemon::start(&home).await?;
    must_have(&client, &acknowledged).await?;
    maps(&client).create(&PostParams::default(), &large("new", 10)?).await?;
    let reach = Reach::to(client);
    sandbox.write(&reach).await?;
    sandbox.verify(&reach, 0).await?;
    sandbox.delete(&reach).await?;
    home.finish(daemon).await
}

/// The kernel ends a daemon that has no memory left; what it acknowledged is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_without_memory_loses_nothing() -> Result<()> {
    let home = Home::new()?;
    let fence = Fence::around("memory")?;
    let mut daemon = Daemon::run(&home, fence.command(&home)?)?;
    let client = daemon.ready().await?;
    let reach = Reach::to(client.clone());
    let mut sandbox = Sandbox::create(&reach, "box", spec(json!({}))).await?;
    sandbox.ready(&reach).await?;
    sandbox.write(&reach).await?;
    let used = fence.get(&["memory.usage_in_bytes", "memory.current"])?;
    fence.set(&["memory.limit_in_bytes", "memory.max"], &(used + (24 << 20)).to_string())?;
    let (acknowledged, _) = fill(&client, 900_000).await?;
    daemon.end().await?;
    ensure!(!acknowledged.is_empty(), "nothing was acknowledged");
    let (daemon, client) = Daemon::start(&home).await?;
    must_have(&client, &acknowledged).await?;
    let reach = Reach::to(client);
    sandbox.write(&reach).await?;
    sandbox.verify(&reach, 0).await?;
    sandbox.delete(&reach).await?;
    home.finish(daemon).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_without_processes_says_so_and_goes_on_when_there_are_some() -> Result<()> {
    let home = Home::new()?;
    let fence = Fence::around("pids")?;
    let mut daemon = Daemon::run(&home, fence.command(&home)?)?;
    let client = daemon.ready().await?;
    let reach = Reach::to(client.clone());
    let mut first = Sandbox::create(&reach, "first", spec(json!({}))).await?;
    first.ready(&reach).await?;
    let used = fence.get(&["pids.current"])?;
    fence.set(&["pids.max"], &used.to_string())?;
    let mut second = Sandbox::create(&reach, "second", spec(json!({}))).await?;
    let told = || async {
        let events: Api<Event> = Api::namespaced(client.clone(), "default");
        let all = events.list(&ListParams::default()).await.ok()?;
        let mut about = all.iter().filter(|event| event.involved_object.name.as_deref() == Some("second"));
        about.find_map(|event| event.message.clone().filter(|text| text.contains("Resource temporarily")))
    };
    wait::until(wait::DEADLINE, "it to be said what is missing", told).await.with_context(|| daemon.log())?;
    daemon.work(Duration::ZERO).await?;
    fence.set(&["pids.max"], "max")?;
    for sandbox in [&mut first, &mut second] {
        sandbox.ready(&reach).await.with_context(|| daemon.log())?;
        sandbox.write(&reach).await?;
        sandbox.verify(&reach, 0).await?;
    }
    for sandbox in [first, second] {
        sandbox.delete(&reach).await?;
    }
    home.finish(daemon).await
}

/// Nothing of a file system that is full is left in memory either.
#[test]
fn mounts_of_tests_go_with_them() -> Result<()> {
    let folder = tempfile::tempdir()?;
    drop(Mounted::new(&["-t", "tmpfs", "tmpfs"], folder.path())?);
    let table = fs::read_to_string("/proc/self/mountinfo")?;
    assert!(!table.contains(&folder.path().display().to_string()));
    Ok(())
}
