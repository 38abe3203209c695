//! From building a container to removing it: what runs, as whom, where, and how its end is told.

use std::fs;

use anyhow::{Result, ensure};
use asb_node::shim::client::Error;
use asb_node::shim::plan::{Source, User};
use asb_node::shim::protocol::{Phase, Reason, Request, Status};
use libtest_mimic::Trial;

use crate::fixture::{Pod, attempt, trial, trial_with, volume};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_program_runs_and_its_output_is_in_the_log", says_hello),
        trial("exit_codes_and_signals_are_told_as_they_were", exit_codes),
        trial("the_environment_directory_and_user_are_those_of_the_plan", surroundings),
        trial("a_program_that_is_not_there_fails_the_start_by_name", missing_program),
        trial("a_container_that_was_built_waits_for_its_start", waits),
        trial("a_signal_reaches_the_first_process", signals),
        trial("kill_ends_what_ignores_every_signal", kills),
        trial("attempts_start_afresh_and_are_removed_one_by_one", attempts),
        trial("last_words_are_kept_with_the_exit", last_words),
        trial("volumes_carry_the_ids_of_the_container_on_disk", volumes),
        trial("a_sub_path_is_made_and_cannot_lead_out_of_its_volume", sub_paths),
        trial_with("volumes_in_memory_outlive_containers", memory_volume, memory_volumes),
        trial("programs_can_open_their_streams_by_name", streams_by_name),
        trial("a_read_only_root_is_read_only_everywhere", read_only),
    ]
}

async fn says_hello(pod: &mut Pod) -> Result<()> {
    let (exit, log) = pod.run(pod.shell("echo hello; echo problem >&2")).await?;
    ensure!(exit.status == Status::Code(0) && exit.started_at.is_some(), "{exit:?}");
    ensure!(log.contains("hello\n") && log.contains("problem\n"), "{log}");
    let records = fs::read_to_string(pod.path("log"))?;
    ensure!(records.contains(" stdout F hello\n") && records.contains(" stderr F problem\n"), "{records}");
    Ok(())
}

async fn exit_codes(pod: &mut Pod) -> Result<()> {
    let scripts = [
        ("exit 7", Status::Code(7)),
        ("kill -TERM $$; sleep 9", Status::Code(143)),
        ("exit 0", Status::Code(0)),
    ];
    for (number, (script, expected)) in (0..).zip(scripts) {
        // The first process of a namespace is deaf to its own signals: its child tells of them.
        let plan = pod.shell(&format!("sh -c '{script}'; exit $?"));
        let attempt = attempt("main", number);
        pod.start(&attempt, plan).await?;
        let exit = pod.exit(&attempt).await?;
        ensure!(exit.status == expected, "{script}: {exit:?}");
        ensure!(pod.directory.exit(&attempt)? == Some(exit), "the record on disk differs");
    }
    Ok(())
}

async fn surroundings(pod: &mut Pod) -> Result<()> {
    let mut plan =
        pod.shell("echo $A; pwd; id -u; id -g; id -G; echo $HOME; cat /proc/sys/kernel/hostname; umask");
    plan.process.env.push("A=b c".to_owned());
    plan.process.cwd = "/not/there/yet".into();
    plan.process.user = User { uid: 1000, gid: 1000, groups: vec![7, 8] };
    let output = pod.succeed(plan).await?;
    let expected = "b c\n/not/there/yet\n1000\n1000\n1000 7 8\n/home/user\nsandbox\n0022\n";
    ensure!(output == expected, "{output}");
    Ok(())
}

async fn missing_program(pod: &mut Pod) -> Result<()> {
    let attempt = attempt("main", 0);
    let plan = pod.container(&["no-such-program"]);
    pod.client.create_container(&attempt, plan).await?;
    let started = pod.client.start_container(&attempt).await;
    let Err(Error::Failed { reason: Reason::Program, message }) = started else {
        anyhow::bail!("it started: {started:?}");
    };
    ensure!(message == "exec: \"no-such-program\": executable file not found in $PATH", "{message}");
    let exit = pod.exit(&attempt).await?;
    ensure!(exit.status == Status::Code(128) && exit.failure == Some(message), "{exit:?}");
    Ok(())
}

async fn waits(pod: &mut Pod) -> Result<()> {
    let attempt = attempt("main", 0);
    let plan = pod.shell("echo started");
    pod.client.create_container(&attempt, plan).await?;
    let state = pod.client.state(None).await?;
    ensure!(state.containers[0].phase == Phase::Created, "{state:?}");
    ensure!(pod.log().is_empty());
    pod.client.start_container(&attempt).await?;
    pod.exit(&attempt).await?;
    ensure!(pod.log() == "started\n");
    Ok(())
}

async fn signals(pod: &mut Pod) -> Result<()> {
    let attempt = attempt("main", 0);
    let plan = pod.shell("trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.05; done");
    pod.start(&attempt, plan).await?;
    pod.until(|| pod.log().eq("ready\n")).await?;
    pod.client.done(Request::Signal { attempt: attempt.clone(), signal: libc::SIGTERM }).await?;
    let exit = pod.exit(&attempt).await?;
    ensure!(exit.status == Status::Code(3) && pod.log() == "ready\ncaught\n", "{exit:?}");
    Ok(())
}

async fn kills(pod: &mut Pod) -> Result<()> {
    let attempt = attempt("main", 0);
    let plan = pod.shell("trap '' TERM INT HUP; sh -c 'trap \"\" TERM; sleep 1000' & sleep 1000");
    pod.start(&attempt, plan).await?;
    pod.client.done(Request::Kill { attempt: attempt.clone() }).await?;
    let exit = pod.exit(&attempt).await?;
    ensure!(exit.status == Status::Signal(libc::SIGKILL) && exit.status.code() == 137, "{exit:?}");
    Ok(())
}

async fn attempts(pod: &mut Pod) -> Result<()> {
    for number in 0..2 {
        let attempt = attempt("main", number);
        let plan = pod.shell("test ! -e /mark && echo fresh > /mark && cat /mark");
        pod.start(&attempt, plan).await?;
        let exit = pod.exit(&attempt).await?;
        ensure!(exit.status == Status::Code(0), "{exit:?}");
    }
    let directories = [0, 1].map(|number| pod.directory.attempt(&attempt("main", number)));
    ensure!(directories.iter().all(|directory| directory.join("upper/mark").exists()));
    pod.client.done(Request::RemoveContainer { attempt: attempt("main", 0) }).await?;
    ensure!(!directories[0].exists() && directories[1].exists());
    let state = pod.client.state(None).await?;
    ensure!(state.containers.len() == 1, "{state:?}");
    Ok(())
}

async fn last_words(pod: &mut Pod) -> Result<()> {
    let mut plan = pod.shell("echo why > /dev/termination-log; exit 1");
    plan.process.user.uid = 1000;
    let (exit, _) = pod.run(plan).await?;
    ensure!(exit.message == "why\n", "{exit:?}");
    Ok(())
}

async fn volumes(pod: &mut Pod) -> Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let path = pod.path("volume");
    fs::create_dir(&path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777))?;
    fs::write(path.join("theirs"), "")?;
    chown(path.join("theirs"), Some(1000), Some(1000))?;
    let mut plan =
        pod.shell("stat -c %u /data/theirs; touch /data/mine; chown 7 /data/owned 2>&1; mkdir /data/dir");
    plan.process.user = User { uid: 1000, gid: 1000, groups: vec![] };
    plan.mounts.push(volume(&path, "/data"));
    let output = pod.run(plan).await?.1;
    ensure!(output.starts_with("1000\n"), "{output}");
    ensure!(fs::metadata(path.join("mine"))?.uid() == 1000);
    Ok(())
}

async fn sub_paths(pod: &mut Pod) -> Result<()> {
    let path = pod.path("volume");
    fs::create_dir(&path)?;
    std::os::unix::fs::symlink("/etc", path.join("out"))?;
    let with = |sub_path: &str| {
        let mut mount = volume(&path, "/data");
        mount.source = Source::Path { path: path.clone(), sub_path: Some(sub_path.into()), recursive: false };
        mount
    };
    let mut plan = pod.shell("touch /data/here");
    plan.mounts.push(with("a/b"));
    pod.succeed(plan).await?;
    ensure!(path.join("a/b/here").exists());
    for (number, sub_path) in [(1, "out"), (2, "../image"), (3, "out/ssl")] {
        let mut plan = pod.shell("true");
        plan.mounts.push(with(sub_path));
        let built = pod.client.create_container(&attempt("main", number), plan).await;
        let message = built.err().map(|error| error.to_string()).unwrap_or_default();
        ensure!(message.contains("cannot find the sub-path"), "{sub_path}: {message}");
    }
    Ok(())
}

fn memory_volume(plan: &mut asb_node::shim::plan::SandboxPlan) {
    plan.memory_volumes.push(asb_node::shim::plan::MemoryVolume {
        name: "scratch".to_owned(),
        size: Some(1 << 20),
        mode: 0o777,
        gid: 0,
    });
}

async fn memory_volumes(pod: &mut Pod) -> Result<()> {
    let mount = || asb_node::shim::plan::Mount {
        source: Source::Memory { volume: "scratch".to_owned(), sub_path: None },
        target: "/dev/shm".into(),
        read_only: false,
    };
    let scripts = [
        "echo kept > /dev/shm/file",
        "cat /dev/shm/file; dd if=/dev/zero of=/dev/shm/big bs=1M count=2 2>&1",
    ];
    for (number, script) in (0..).zip(scripts) {
        let mut plan = pod.shell(script);
        plan.mounts.push(mount());
        pod.start(&attempt("main", number), plan).await?;
        pod.exit(&attempt("main", number)).await?;
    }
    let log = pod.log();
    ensure!(log.starts_with("kept\n") && log.contains("No space left"), "{log}");
    Ok(())
}

async fn streams_by_name(pod: &mut Pod) -> Result<()> {
    for (number, uid) in [(0, 0), (1, 1000)] {
        let mut plan = pod.shell("echo out > /dev/stdout; echo err > /dev/stderr");
        plan.process.user.uid = uid;
        pod.start(&attempt("main", number), plan).await?;
        pod.exit(&attempt("main", number)).await?;
    }
    let log = pod.log();
    ensure!(log.matches("out\n").count() == 2 && log.matches("err\n").count() == 2, "{log}");
    Ok(())
}

async fn read_only(pod: &mut Pod) -> Result<()> {
    let mut plan = pod.shell("for d in / /etc /usr /usr/bin; do touch $d/x 2>/dev/null && echo $d; done; touch /tmp/fine && echo ok");
    plan.root.read_only = true;
    plan.mounts.push(asb_node::shim::plan::Mount {
        source: Source::Tmpfs { size: Some(65536), mode: 0o1777 },
        target: "/tmp".into(),
        read_only: false,
    });
    let output = pod.succeed(plan).await?;
    ensure!(output == "ok\n", "{output}");
    Ok(())
}
