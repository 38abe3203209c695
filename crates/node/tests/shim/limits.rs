//! Limits bite, usage is measured, and a Pod can be stopped and go on.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use asb_node::shim::cgroups::Hierarchies;
use asb_node::shim::plan::CpuQuota;
use asb_node::shim::protocol::{Answer, Request, Status};
use libtest_mimic::Trial;

use crate::fixture::{Pod, attempt, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_container_that_takes_too_much_memory_is_killed_for_it", memory),
        trial("processes_beyond_the_limit_are_not_made", pids),
        trial("a_container_gets_no_more_cpu_than_its_quota", cpu),
        trial("a_frozen_container_does_nothing_until_it_is_thawed", freezing),
        trial("a_frozen_container_can_be_killed", killing_frozen),
        trial("without_version_2_processes_are_frozen_and_killed_all_the_same", version_1),
        trial("usage_is_that_of_the_containers_processes", usage),
    ]
}

async fn memory(pod: &mut Pod) -> Result<()> {
    let mut plan = pod.payload(&["eat"]);
    plan.limits.memory = Some(64 << 20);
    let (exit, log) = pod.run(plan).await?;
    ensure!(exit.status == Status::Signal(libc::SIGKILL) && exit.oom_killed, "{exit:?} {log}");
    Ok(())
}

async fn pids(pod: &mut Pod) -> Result<()> {
    let mut plan = pod.shell("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1000 & done; wait");
    plan.limits.pids = Some(8);
    let (exit, log) = pod.run(plan).await?;
    ensure!(exit.status != Status::Code(0) && log.contains("fork"), "{exit:?} {log}");
    Ok(())
}

async fn cpu(pod: &mut Pod) -> Result<()> {
    let mut plan = pod.payload(&["spin"]);
    plan.limits.cpu = Some(CpuQuota { quota: 20_000, period: 100_000 });
    let milliseconds: u32 = pod.succeed(plan).await?.trim().parse()?;
    ensure!(milliseconds < 400, "it got {milliseconds} ms of a second");
    Ok(())
}

/// How often a frozen container is looked at, which takes longer than it may take of the processor.
const LOOKS: usize = 100;
/// Nanoseconds that the kernel may charge to a process whose freezing it has told of already.
const FALLING_ASLEEP: u64 = 1_000_000;

async fn freezing(pod: &mut Pod) -> Result<()> {
    let attempt = attempt("main", 0);
    let plan = pod.shell("n=0; while :; do n=$((n + 1)); [ $((n % 1000)) = 0 ] && echo tick; done");
    pod.start(&attempt, plan).await?;
    pod.until(|| !pod.log().is_empty()).await?;
    pod.client.done(Request::Freeze { attempt: None }).await?;
    let state = pod.client.state(None).await?;
    ensure!(state.containers[0].frozen, "{state:?}");
    let before = used(pod).await?;
    let mut after = before;
    for _ in 0..LOOKS {
        after = used(pod).await?;
    }
    ensure!(after - before < FALLING_ASLEEP, "it was frozen, and took {} ns all the same", after - before);
    // What was written before it stopped may still arrive; after that, nothing does.
    let before = pod.log().len();
    pod.client.done(Request::Thaw { attempt: Some(attempt.clone()) }).await?;
    pod.until(|| pod.log().len() > before + 20).await
}

async fn used(pod: &mut Pod) -> Result<u64> {
    match pod.client.ask(Request::Usage).await? {
        Answer::Usage { pod, .. } => Ok(pod.cpu_nanoseconds),
        other => bail!("{other:?}"),
    }
}

async fn killing_frozen(pod: &mut Pod) -> Result<()> {
    let attempt = attempt("main", 0);
    let plan = pod.shell("sleep 1000 & sleep 1000");
    pod.start(&attempt, plan).await?;
    pod.client.done(Request::Freeze { attempt: Some(attempt.clone()) }).await?;
    pod.client.done(Request::Kill { attempt: attempt.clone() }).await?;
    let exit = pod.exit(&attempt).await?;
    ensure!(exit.status == Status::Signal(libc::SIGKILL), "{exit:?}");
    Ok(())
}

async fn version_1(pod: &mut Pod) -> Result<()> {
    let hierarchies = Hierarchies::discover()?.without_version_2();
    // A machine with version 2 alone has nothing to show here.
    let path = pod.plan.cgroup.join("alone");
    let Ok(cgroup) = hierarchies.create(&path).and_then(|cgroup| cgroup.usage().map(|_| cgroup)) else {
        return Ok(());
    };
    let mut child = Command::new("/proc/self/exe")
        .args(["payload", "join", &path.display().to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    child.stdout.take().context("no output")?.read_exact(&mut [0; 3])?;
    ensure!(cgroup.processes()?.len() == 1);
    cgroup.freeze()?;
    cgroup.thaw()?;
    cgroup.freeze()?;
    let killed = cgroup.kill();
    let status = child.wait()?;
    killed?;
    ensure!(status.signal() == Some(libc::SIGKILL), "{status}");
    Ok(())
}

async fn usage(pod: &mut Pod) -> Result<()> {
    let plan = pod.shell("sleep 1000 & sleep 1000 & echo up; wait");
    pod.start(&attempt("main", 0), plan).await?;
    pod.until(|| pod.log().eq("up\n")).await?;
    let Answer::Usage { pod: whole, containers } = pod.client.ask(Request::Usage).await? else {
        bail!("no usage");
    };
    let (_, container) = &containers[0];
    ensure!(container.pids == 3 && whole.pids == 3, "{whole:?} {container:?}");
    ensure!(
        container.memory_bytes > 0 && container.working_set_bytes <= container.memory_bytes,
        "{container:?}"
    );
    ensure!(container.cpu_nanoseconds > 0);
    Ok(())
}
