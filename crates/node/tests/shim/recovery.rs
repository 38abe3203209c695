//! Daemons come and go, and shims are killed: nothing that runs is lost by the one, and nothing is left by the other.

use std::fs;
use std::time::Duration;

use anyhow::{Result, ensure};
use asb_node::halt;
use asb_node::shim::cleanup;
use asb_node::shim::client::Client;
use asb_node::shim::directory::Directory;
use asb_node::shim::protocol::{Phase, Request, Status};
use libtest_mimic::Trial;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::fixture::{Pod, attempt, program, shell, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("another_client_finds_everything_that_runs", reattach),
        trial("nothing_that_the_daemon_was_left_is_held_by_the_shim", inherits_nothing),
        trial("what_ended_while_nobody_looked_is_told_later", told_later),
        trial("a_killed_shim_is_cleaned_up_from_its_directory", killed_shim),
        trial("exits_are_on_disk_when_the_shim_is_gone", exits_on_disk),
        trial("there_is_one_shim_for_a_directory", one_shim),
        trial("a_shutdown_leaves_nothing_but_files", shutdown),
        trial("without_a_daemon_a_pod_is_asked_to_end", asked_to_end),
        trial("a_pod_that_does_not_care_is_ended_all_the_same", ended_all_the_same),
        trial("a_client_of_another_version_is_turned_away", versions),
    ]
}

async fn reattach(pod: &mut Pod) -> Result<()> {
    let plan = pod.shell("sleep 1000");
    let pid = pod.start(&attempt("main", 0), plan).await?;
    pod.client = Client::connect(&pod.directory).await?;
    let state = pod.client.state(None).await?;
    ensure!(
        matches!(state.containers[0].phase, Phase::Running { .. }) && state.containers[0].pid == Some(pid),
        "{state:?}"
    );
    let (status, text) = pod.exec(shell("echo alive")).await?;
    ensure!((status, text.as_str()) == (Status::Code(0), "alive\n"));
    Ok(())
}

async fn inherits_nothing(pod: &mut Pod) -> Result<()> {
    let file = pod.path("left-open");
    fs::write(&file, "")?;
    let left = rustix::fs::open(&file, rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty())?;
    let directory = Directory::new(pod.path("other"));
    let shim = Client::spawn(&program(), &directory).await?;
    let held = fs::read_dir(format!("/proc/{}/fd", shim.pid()))?
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .any(|held| held == file);
    drop(left);
    cleanup::remove(&directory)?;
    ensure!(!held, "the shim holds {}", file.display());
    Ok(())
}

async fn told_later(pod: &mut Pod) -> Result<()> {
    let attempt = attempt("main", 0);
    let plan = pod.shell("exit 9");
    pod.start(&attempt, plan).await?;
    pod.client = Client::connect(&pod.directory).await?;
    ensure!(pod.exit(&attempt).await?.status == Status::Code(9));
    Ok(())
}

async fn killed_shim(pod: &mut Pod) -> Result<()> {
    let plan = pod.shell("sleep 1000 & sleep 1000");
    let pid = pod.start(&attempt("main", 0), plan).await?;
    ensure!(cleanup::shim(&pod.directory)? == Some(pod.client.pid()));
    kill(Pid::from_raw(pod.client.pid()), Signal::SIGKILL)?;
    ensure!(pod.client.state(None).await.is_err());
    ensure!(fs::exists(format!("/proc/{pid}"))?, "the container went with its shim");
    cleanup::end(&pod.directory)?;
    ensure!(!fs::exists(format!("/proc/{pid}/exe"))?);
    ensure!(
        pod.directory.attempts()? == [attempt("main", 0)]
            && pod.directory.exit(&attempt("main", 0))?.is_none()
    );
    Ok(())
}

async fn exits_on_disk(pod: &mut Pod) -> Result<()> {
    let attempt = attempt("main", 0);
    let plan = pod.shell("exit 3");
    pod.start(&attempt, plan).await?;
    let exit = pod.exit(&attempt).await?;
    kill(Pid::from_raw(pod.client.pid()), Signal::SIGKILL)?;
    ensure!(pod.directory.exit(&attempt)? == Some(exit));
    Ok(())
}

async fn one_shim(pod: &mut Pod) -> Result<()> {
    ensure!(Client::spawn(&program(), &pod.directory).await.is_err());
    // The one that runs is still reached.
    ensure!(Client::connect(&pod.directory).await?.pid() == pod.client.pid());
    Ok(())
}

async fn shutdown(pod: &mut Pod) -> Result<()> {
    let plan = pod.shell("sleep 1000");
    pod.start(&attempt("main", 0), plan).await?;
    pod.client.done(Request::Shutdown).await?;
    ensure!(pod.client.state(None).await.is_err());
    ensure!(pod.directory.exit(&attempt("main", 0))?.is_some());
    Ok(())
}

async fn asked_to_end(pod: &mut Pod) -> Result<()> {
    let plan = pod.shell("trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done");
    pod.start(&attempt("main", 0), plan).await?;
    pod.until(|| pod.log().contains("ready")).await?;
    halt::end(std::slice::from_ref(&pod.directory), Duration::from_secs(30)).await?;
    ensure!(cleanup::shim(&pod.directory)?.is_none());
    let exit = pod.directory.exit(&attempt("main", 0))?;
    ensure!(exit.as_ref().is_some_and(|exit| exit.status == Status::Code(7)), "{exit:?}");
    Ok(())
}

async fn ended_all_the_same(pod: &mut Pod) -> Result<()> {
    let plan = pod.shell("trap '' TERM; echo ready; while :; do sleep 0.05; done");
    let pid = pod.start(&attempt("main", 0), plan).await?;
    pod.until(|| pod.log().contains("ready")).await?;
    halt::end(std::slice::from_ref(&pod.directory), Duration::from_millis(100)).await?;
    ensure!(cleanup::shim(&pod.directory)?.is_none() && !fs::exists(format!("/proc/{pid}/exe"))?);
    Ok(())
}

async fn versions(pod: &mut Pod) -> Result<()> {
    use std::io::{Read, Write};
    let mut stream = std::os::unix::net::UnixStream::connect(pod.directory.root().join("shim.sock"))?;
    let text = br#"{"request":"hello","version":999}"#;
    stream.write_all(&[&u32::try_from(text.len())?.to_be_bytes()[..], &[0], text].concat())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer[5..]);
    ensure!(answer.contains("speaks version 1, not 999"), "{answer}");
    Ok(())
}
