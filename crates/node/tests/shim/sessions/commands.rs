//! Commands that are executed in containers.

use std::fs;

use anyhow::{Result, ensure};
use asb_node::streams::{Kind, Size, Target, Wanted};
use libtest_mimic::Trial;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{EVERYTHING, TERMINAL, shell, streams, talk, target, waiting};
use crate::fixture::{Pod, attempt, trial};

pub(super) fn trials() -> Vec<Trial> {
    vec![
        trial("a_command_has_its_streams_and_its_exit_code", streams_and_code),
        trial("a_command_has_no_more_rights_than_its_container", rights),
        trial("a_command_can_have_a_terminal_of_the_clients_size", terminal),
        trial("a_command_with_a_terminal_is_hung_up_when_its_client_vanishes", hung_up),
        trial("a_command_without_a_terminal_outlives_its_client", left_alone),
        trial("clients_that_vanish_leave_nothing_open", nothing_left),
        trial("a_command_that_is_not_there_is_told_of_as_shells_do", missing),
        trial("a_container_that_is_not_there_is_told_of_as_kubelets_do", no_container),
    ]
}

async fn streams_and_code(pod: &mut Pod) -> Result<()> {
    let streams = waiting(pod).await?;
    let said = talk(shell(&streams, "cat; echo err >&2; exit 7", EVERYTHING).await?, "typed in").await?;
    ensure!(said == (7, "typed in".to_owned(), "err\n".to_owned()), "{said:?}");
    let killed = talk(shell(&streams, "kill -9 $$", EVERYTHING).await?, "").await?;
    ensure!(killed.0 == 137, "{killed:?}");
    let silent = Wanted { stdout: true, ..Wanted::default() };
    let said = talk(shell(&streams, "cat; echo lost >&2; echo out > /dev/stdout", silent).await?, "").await?;
    ensure!(said == (0, "out\n".to_owned(), String::new()), "{said:?}");
    let much = talk(shell(&streams, "head -c 3000000 /dev/zero", silent).await?, "").await?;
    ensure!(much.1.len() == 3_000_000, "{}", much.1.len());
    Ok(())
}

async fn rights(pod: &mut Pod) -> Result<()> {
    let mut plan = pod.shell("sleep 1000");
    plan.process.capabilities.retain(|name| name != "CHOWN");
    (plan.process.user.uid, plan.process.cwd) = (1000, "/tmp".into());
    plan.process.env.push("X=container's".to_owned());
    pod.start(&attempt("main", 0), plan).await?;
    let fields =
        |who: &str| format!("$(grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp)' /proc/{who}/status)");
    let script = format!("test \"{}\" = \"{}\" && pwd && echo $X", fields("1"), fields("self"));
    let said = talk(shell(&streams(pod), &script, EVERYTHING).await?, "").await?;
    ensure!(said == (0, "/tmp\ncontainer's\n".to_owned(), String::new()), "{said:?}");
    Ok(())
}

async fn terminal(pod: &mut Pod) -> Result<()> {
    let streams = waiting(pod).await?;
    let script = "test -t 0 && test -t 1 && test -t 2 && echo $TERM; while [ \"$(stty size)\" != '40 120' ]; do :; done; read line; echo got $line; exit 4";
    let mut session = shell(&streams, script, TERMINAL).await?;
    if let Some(size) = &session.size {
        size.send_replace(Size { columns: 120, rows: 40 });
    }
    let (size, stdin) = (session.size.take(), session.stdin.take());
    if let Some(mut stdin) = stdin {
        stdin.write_all(b"word\n").await?;
        stdin.shutdown().await?;
    }
    let (code, text, _) = talk(session, "").await?;
    drop(size);
    ensure!(code == 4 && text.contains("xterm\r\n") && text.ends_with("got word\r\n"), "{code} {text:?}");
    Ok(())
}

async fn hung_up(pod: &mut Pod) -> Result<()> {
    let streams = waiting(pod).await?;
    let script = "trap 'echo > /tmp/hung-up; exit' HUP; echo ready; while :; do read line; done";
    let mut session = shell(&streams, script, TERMINAL).await?;
    session.stdout.as_mut().expect("it is wanted").read_exact(&mut [0; 5]).await?;
    drop(session);
    let seen = talk(shell(&streams, "until [ -e /tmp/hung-up ]; do :; done", EVERYTHING).await?, "").await?;
    ensure!(seen.0 == 0, "{seen:?}");
    Ok(())
}

async fn left_alone(pod: &mut Pod) -> Result<()> {
    let streams = waiting(pod).await?;
    let mut session = shell(&streams, "echo ready; cat > /dev/null; echo > /tmp/alive", EVERYTHING).await?;
    session.stdout.as_mut().expect("it is wanted").read_exact(&mut [0; 5]).await?;
    drop(session);
    let seen = talk(shell(&streams, "until [ -e /tmp/alive ]; do :; done", EVERYTHING).await?, "").await?;
    ensure!(seen.0 == 0, "{seen:?}");
    Ok(())
}

async fn nothing_left(pod: &mut Pod) -> Result<()> {
    let streams = waiting(pod).await?;
    let shim = pod.client.pid();
    let open = move || fs::read_dir(format!("/proc/{shim}/fd")).map_or(0, Iterator::count);
    let before = open();
    for wanted in [EVERYTHING, TERMINAL].into_iter().cycle().take(20) {
        drop(shell(&streams, "cat", wanted).await?);
    }
    // With nothing to read any more they end, and are forgotten.
    pod.until(|| open() <= before).await
}

async fn missing(pod: &mut Pod) -> Result<()> {
    let streams = waiting(pod).await?;
    for (program, code, words) in [
        ("no-such", 127, "exec: \"no-such\": executable file not found in $PATH"),
        ("/no/such", 127, "exec: \"/no/such\": no such file or directory"),
        ("/etc/passwd", 126, "exec: \"/etc/passwd\": permission denied"),
    ] {
        let session = streams.exec(&target(), &[program.to_owned()], EVERYTHING).await?;
        let said = talk(session, "").await?;
        ensure!(said.0 == code && said.2.contains(words), "{said:?}");
    }
    Ok(())
}

async fn no_container(pod: &mut Pod) -> Result<()> {
    let streams = streams(pod);
    let told = async |target: &Target| {
        streams.check(target).await.map_err(|error| (error.kind(), error.to_string()))
    };
    ensure!(told(&target()).await == Err((Kind::NotFound, "container not found (\"main\")".to_owned())));
    let web = Target { container: Some("web".to_owned()), ..target() };
    ensure!(told(&web).await == Err((Kind::Bad, "container web is not valid for pod box".to_owned())));
    let stranger = Target { pod: "stranger".to_owned(), ..target() };
    ensure!(told(&stranger).await == Err((Kind::NotFound, "pods \"stranger\" not found".to_owned())));
    let plan = pod.shell("exit 0");
    pod.run(plan).await?;
    ensure!(told(&target()).await.is_err_and(|(kind, _)| kind == Kind::NotFound), "it has ended");
    Ok(())
}
