//! What goes in and out of containers: terminals, executed processes, those who attach, and logs.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use anyhow::{Context, Result, ensure};
use asb_node::shim::plan::Stdin;
use asb_node::shim::protocol::{Request, Status};
use libtest_mimic::Trial;

use crate::fixture::{Pod, attempt, process, shell, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("executed_processes_have_their_own_streams_and_exit_codes", exec),
        trial("an_executed_process_can_have_a_terminal", exec_terminal),
        trial("a_program_that_cannot_be_executed_is_told_by_name", exec_missing),
        trial("an_executed_process_that_does_not_end_can_be_killed", exec_killed),
        trial("a_container_can_have_a_terminal", terminal),
        trial("those_who_attach_get_all_output_from_then_on", attach),
        trial("stdin_ends_when_the_first_who_attached_leaves", stdin_once),
        trial("a_reader_that_sleeps_does_not_hold_up_the_container", slow_reader),
        trial("logs_are_put_aside_when_they_are_full", rotation),
        trial("a_log_that_cannot_be_written_does_not_stop_the_container", unwritable_log),
    ]
}

async fn sleeper(pod: &mut Pod) -> Result<()> {
    let plan = pod.shell("sleep 1000");
    pod.start(&attempt("main", 0), plan).await.map(drop)
}

async fn exec(pod: &mut Pod) -> Result<()> {
    sleeper(pod).await?;
    let mut asked = shell("echo $X; pwd; id -u; cat; exit 5");
    (asked.cwd, asked.user.uid) = ("/etc".into(), 1000);
    asked.env.push("X=1".to_owned());
    let (status, text) = pod.exec(asked).await?;
    ensure!((status, text.as_str()) == (Status::Code(5), "1\n/etc\n1000\n"), "{status:?} {text}");
    ensure!(pod.log().is_empty(), "it is not in the container's log");
    Ok(())
}

async fn exec_terminal(pod: &mut Pod) -> Result<()> {
    sleeper(pod).await?;
    let mut asked = shell("tty; stty size; read line; echo got $line; exit 4");
    asked.tty = true;
    let executed = pod.client.exec(&attempt("main", 0), asked, &[]).await?;
    let mut terminal = File::from(executed.terminal.context("no terminal")?);
    terminal.write_all(b"word\n")?;
    let status = pod.client.wait_exec(executed.exec).await?;
    let text = read_terminal(&mut terminal);
    ensure!(
        status == Status::Code(4) && text.contains("/dev/pts/") && text.contains("got word"),
        "{status:?} {text}"
    );
    Ok(())
}

/// A terminal ends with an error.
fn read_terminal(terminal: &mut File) -> String {
    let (mut text, mut chunk) = (Vec::new(), [0; 1024]);
    while let Ok(length @ 1..) = terminal.read(&mut chunk) {
        text.extend_from_slice(&chunk[..length]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

async fn exec_missing(pod: &mut Pod) -> Result<()> {
    sleeper(pod).await?;
    let failed = pod.exec(process(&["/no/such"])).await.map(drop);
    let message = failed.err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(message == "exec: \"/no/such\": no such file or directory", "{message}");
    Ok(())
}

async fn exec_killed(pod: &mut Pod) -> Result<()> {
    sleeper(pod).await?;
    let null = File::open("/dev/null")?;
    let stdio = [(); 3].map(|()| std::os::fd::AsFd::as_fd(&null));
    let executed = pod.client.exec(&attempt("main", 0), shell("sleep 1000"), &stdio).await?;
    pod.client.done(Request::SignalExec { exec: executed.exec, signal: libc::SIGKILL }).await?;
    let status = pod.client.wait_exec(executed.exec).await?;
    ensure!(status == Status::Signal(libc::SIGKILL), "{status:?}");
    Ok(())
}

async fn terminal(pod: &mut Pod) -> Result<()> {
    let attempt = attempt("main", 0);
    let mut plan = pod.shell("read line; stty size; echo got $line; test -t 0 && test -t 1 && test -t 2");
    (plan.process.tty, plan.stdin) = (true, Stdin::Open);
    pod.start(&attempt, plan).await?;
    pod.client.done(Request::Resize { attempt: attempt.clone(), rows: 40, columns: 120 }).await?;
    let mut descriptors = pod.client.done(Request::Attach { attempt: attempt.clone(), stdin: true }).await?;
    ensure!(descriptors.len() == 2);
    File::from(descriptors.remove(0)).write_all(b"word\n")?;
    let exit = pod.exit(&attempt).await?;
    let log = pod.log();
    ensure!(
        exit.status == Status::Code(0) && log.contains("40 120") && log.contains("got word"),
        "{exit:?} {log}"
    );
    let seen = read_all(descriptors.remove(0))?;
    ensure!(seen.contains("got word"), "{seen}");
    Ok(())
}

fn read_all(descriptor: OwnedFd) -> Result<String> {
    let mut text = String::new();
    File::from(descriptor).read_to_string(&mut text)?;
    Ok(text)
}

async fn attach(pod: &mut Pod) -> Result<()> {
    let attempt = attempt("main", 0);
    let plan = pod.shell("echo out; echo err >&2");
    pod.client.create_container(&attempt, plan).await?;
    let request = || Request::Attach { attempt: attempt.clone(), stdin: false };
    let [one, two] = [pod.client.done(request()).await?, pod.client.done(request()).await?];
    pod.client.start_container(&attempt).await?;
    pod.exit(&attempt).await?;
    for descriptors in [one, two] {
        let texts = descriptors.into_iter().map(read_all).collect::<Result<Vec<_>>>()?;
        ensure!(texts == ["out\n", "err\n"], "{texts:?}");
    }
    Ok(())
}

async fn stdin_once(pod: &mut Pod) -> Result<()> {
    let attempt = attempt("main", 0);
    let mut plan = pod.shell("cat; echo end");
    plan.stdin = Stdin::Once;
    pod.start(&attempt, plan).await?;
    let request = || Request::Attach { attempt: attempt.clone(), stdin: true };
    let mut descriptors = pod.client.done(request()).await?;
    ensure!(pod.client.done(request()).await.is_err(), "there is only one");
    File::from(descriptors.remove(0)).write_all(b"line\n")?;
    pod.exit(&attempt).await?;
    ensure!(pod.log() == "line\nend\n", "{}", pod.log());
    Ok(())
}

async fn slow_reader(pod: &mut Pod) -> Result<()> {
    let attempt = attempt("main", 0);
    let plan = pod.shell("dd if=/dev/zero bs=1M count=8 2>/dev/null; echo done >&2");
    pod.client.create_container(&attempt, plan).await?;
    let readers = pod.client.done(Request::Attach { attempt: attempt.clone(), stdin: false }).await?;
    pod.client.start_container(&attempt).await?;
    let exit = pod.exit(&attempt).await?;
    ensure!(exit.status == Status::Code(0), "{exit:?}");
    let seen = readers.into_iter().map(read_bytes).collect::<Result<Vec<_>>>()?;
    ensure!(seen[0].len() < 8 << 20 && seen[1] == b"done\n", "{}", seen[0].len());
    Ok(())
}

fn read_bytes(descriptor: OwnedFd) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::from(descriptor).read_to_end(&mut bytes)?;
    Ok(bytes)
}

async fn rotation(pod: &mut Pod) -> Result<()> {
    let mut plan = pod.shell("i=0; while [ $i -lt 200 ]; do echo line $i; i=$((i+1)); done");
    let log = plan.log.as_mut().context("no log")?;
    (log.max_bytes, log.max_files) = (4096, 3);
    pod.succeed(plan).await?;
    let sizes: Vec<u64> = ["log", "log.1", "log.2"]
        .iter()
        .map(|name| Ok(fs::metadata(pod.path(name))?.len()))
        .collect::<Result<_>>()?;
    ensure!(sizes.iter().all(|size| *size <= 4096) && !pod.path("log.3").exists(), "{sizes:?}");
    ensure!(pod.log().ends_with("line 199\n"));
    Ok(())
}

async fn unwritable_log(pod: &mut Pod) -> Result<()> {
    let attempt = attempt("main", 0);
    let mut plan = pod.shell("echo lost; exit 6");
    plan.log.as_mut().context("no log")?.path = "/proc/nowhere/0.log".into();
    pod.start(&attempt, plan).await?;
    let exit = pod.exit(&attempt).await?;
    let state = pod.client.state(None).await?;
    ensure!(exit.status == Status::Code(6) && state.containers[0].lost_output > 0, "{exit:?} {state:?}");
    Ok(())
}
