//! The daemon in the background: started, found, stopped.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::home::{Home, is_root};
use crate::stage::said;

const UP: &str = "up --detach --no-operator --listen 127.0.0.1:0";

async fn pid(home: &Home) -> Result<u64> {
    let status: Value = serde_json::from_str(&home.answer("status -o json").await?)?;
    status["pid"].as_u64().context("a process")
}

#[tokio::test]
async fn a_daemon_goes_on_in_the_background_until_it_is_stopped() -> Result<()> {
    let home = Home::new()?;
    let greeting = home.answer(UP).await?;
    assert!(
        greeting.contains("`asb down` stops it. Its log is") && greeting.contains("asb.log"),
        "{greeting}"
    );
    let pid = pid(&home).await?;
    assert_eq!(session(pid)?, pid, "it has a session of its own");
    let down = home.answer("down").await?;
    assert_eq!(down, format!("Agent Sandbox is down (process {pid} has ended)\n"));
    assert_eq!(home.asb("status").await?.code, Some(1));
    Ok(())
}

/// The sixth word about a process; the second is its name in brackets.
fn session(pid: u64) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let rest = text.rsplit_once(')').context("a name")?.1;
    Ok(rest.split_whitespace().nth(3).context("a session")?.parse()?)
}

#[tokio::test]
async fn stopping_nothing_is_no_failure() -> Result<()> {
    let home = Home::new()?;
    let down = home.answer("down").await?;
    assert!(down.starts_with("no Agent Sandbox runs in "), "{down}");
    Ok(())
}

#[tokio::test]
async fn one_directory_has_one_daemon() -> Result<()> {
    let home = Home::new()?;
    home.answer(UP).await?;
    let pid = pid(&home).await?;
    for line in [UP, "up --no-operator --listen 127.0.0.1:0"] {
        let refused = home.asb(line).await?;
        assert_eq!(refused.code, Some(1));
        assert!(
            refused.stderr.starts_with(&format!("error: an Agent Sandbox (process {pid}) serves ")),
            "{refused:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_daemon_that_cannot_start_says_why() -> Result<()> {
    let home = Home::new()?;
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let refused = home.asb(&format!("up --detach --listen {}", taken.local_addr()?)).await?;
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.starts_with("error: cannot listen on 127.0.0.1:"), "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn a_daemon_that_was_killed_is_in_nobodys_way() -> Result<()> {
    let home = Home::new()?;
    home.answer(UP).await?;
    let killed = pid(&home).await?;
    let kill = tokio::process::Command::new("kill").args(["-9", &killed.to_string()]).status().await?;
    assert!(kill.success());
    home.answer(UP).await?;
    assert_ne!(pid(&home).await?, killed);
    Ok(())
}

#[tokio::test]
async fn a_run_starts_the_daemon_and_two_at_once_start_one() -> Result<()> {
    let home = Home::of_nobody()?;
    let (one, other) = tokio::try_join!(home.asb("run -- true"), home.asb("run -- true"))?;
    let started =
        [&one, &other].map(|it| it.stderr.contains("was started in the background; `asb down` stops it"));
    assert_eq!(started.iter().filter(|it| **it).count(), 1, "{one:?} {other:?}");
    assert!(home.answer("down").await?.starts_with("Agent Sandbox is down"));
    Ok(())
}

#[tokio::test]
async fn without_root_the_api_is_served_and_who_wants_a_node_learns_why_there_is_none() -> Result<()> {
    let home = Home::of_nobody()?;
    let greeting = home.answer(UP).await?;
    assert!(greeting.contains("no Pods run here: isolating them needs root"), "{greeting}");
    assert!(home.answer("status").await?.contains("no Pods run here: isolating them needs root"));
    let refused = home.asb("run -- true").await?;
    assert_eq!(refused.code, Some(125));
    assert!(refused.stderr.starts_with("error: no Pods run here: isolating them needs root"), "{refused:?}");
    assert_eq!(home.answer("ls -o name").await?, "");
    let refused = home.asb("image ls").await?;
    assert!(refused.stderr.contains("this daemon has no images"), "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn somebody_elses_daemon_is_not_ours_to_stop() -> Result<()> {
    // Only root can be two people.
    if !is_root() {
        return Ok(());
    }
    let roots = Home::new()?;
    roots.answer(UP).await?;
    let nobody = Home::of_nobody()?;
    let mut down = nobody.command("down")?;
    down.env("ASB_DATA_DIR", roots.directory.path());
    let refused = said(down).await?;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("cannot open"), "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn the_doctor_tries_everything_and_fails_without_root() -> Result<()> {
    let home = Home::of_nobody()?;
    let told = home.asb("doctor -o json").await?;
    assert_eq!(told.code, Some(1), "{told:?}");
    let answer: Value = serde_json::from_str(&told.stdout)?;
    let findings = answer["findings"].as_array().context("findings")?;
    assert_eq!((answer["able"].as_bool(), findings[0]["verdict"].as_str()), (Some(false), Some("fail")));
    assert!(findings[0]["remedy"].as_str().is_some_and(|remedy| remedy.contains("sudo")), "{answer:#}");
    Ok(())
}

#[tokio::test]
async fn the_doctor_leaves_nothing_behind() -> Result<()> {
    if !is_root() {
        return Ok(());
    }
    let home = Home::new()?;
    let told = home.asb("doctor").await?;
    assert!(told.stdout.contains("This machine can"), "{told:?}");
    assert!(fs::read_dir(home.directory.path())?.next().is_none());
    assert!(!fs::read_to_string("/proc/self/mountinfo")?.contains(".asb-trial-"));
    Ok(())
}

#[tokio::test]
async fn what_belongs_to_nobody_is_found_and_removed() -> Result<()> {
    if !is_root() {
        return Ok(());
    }
    let home = Home::new()?;
    home.answer(UP).await?;
    assert_eq!(home.answer("fsck").await?, "everything on this machine is as it ought to be\n");
    let node = home.directory.path().join("node");
    asb_node::identity::Identity::of(&node)?;
    fs::create_dir_all(node.join("logs/team_box_u1/main"))?;
    fs::create_dir_all(node.join("pods/u1"))?;
    fs::create_dir_all(node.join("volumes/pv-1/data"))?;
    let found = home.asb("fsck").await?;
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.stdout.contains("belongs to nobody: the directory of Pod u1\n"), "{found:?}");
    let mended = home.asb("fsck --repair").await?;
    assert!(mended.stdout.contains("the logs team_box_u1; removed\n"), "{mended:?}");
    assert!(mended.stdout.contains("the volume pv-1; kept, because"), "{mended:?}");
    let left = ["logs/team_box_u1", "pods/u1", "volumes/pv-1/data"].map(|name| node.join(name).exists());
    assert_eq!(left, [false, false, true]);
    Ok(())
}
