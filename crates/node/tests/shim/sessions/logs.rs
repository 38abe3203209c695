//! What containers wrote.

use anyhow::{Context, Result, ensure};
use asb_node::shim::cleanup;
use asb_node::shim::plan::{ContainerPlan, Log};
use asb_node::shim::protocol::Request;
use asb_node::streams::{Kind, LogOptions, LogStream, Streams};
use futures::{StreamExt, TryStreamExt};
use libtest_mimic::Trial;

use super::{EVERYTHING, shell, streams, talk, target};
use crate::fixture::{Pod, attempt, trial};

pub(super) fn trials() -> Vec<Trial> {
    vec![
        trial("a_log_is_followed_to_the_end_of_its_container_over_all_its_files", followed),
        trial("the_log_of_the_attempt_before_is_kept", previous),
        trial("a_log_outlives_all_else_of_its_container", outlives),
        trial("a_log_can_be_of_one_stream", of_one_stream),
        trial("a_follower_of_a_silent_container_is_told_of_its_end", silent),
    ]
}

/// Its log is where the node puts it.
fn logged(pod: &Pod, script: &str, number: u32) -> ContainerPlan {
    let mut plan = pod.shell(script);
    let folder = pod.path("logs").join(format!("team_box_{}", pod.plan.uid)).join("main");
    plan.log = Some(Log { path: folder.join(format!("{number}.log")), max_bytes: 4096, max_files: 3 });
    plan
}

async fn read(streams: &Streams, options: &LogOptions) -> Result<String> {
    let chunks: Vec<_> = streams.logs(&target(), options).await?.try_collect().await?;
    Ok(String::from_utf8(chunks.concat())?)
}

async fn followed(pod: &mut Pod) -> Result<()> {
    let script = "echo first; until [ -e /tmp/go ]; do :; done; i=0; while [ $i -lt 60 ]; do echo line $i; i=$((i+1)); done";
    pod.start(&attempt("main", 0), logged(pod, script, 0)).await?;
    let streams = streams(pod);
    let mut log = streams.logs(&target(), &LogOptions { follow: true, ..LogOptions::default() }).await?;
    let first = log.next().await.context("nothing")??;
    ensure!(first == "first\n", "{first:?}");
    talk(shell(&streams, "echo > /tmp/go", EVERYTHING).await?, "").await?;
    let rest: Vec<_> = log.try_collect().await?;
    let expected: String = (0..60).map(|number| ["line ", &number.to_string(), "\n"].concat()).collect();
    ensure!(rest.concat() == expected.as_bytes(), "{rest:?}");
    let tail = LogOptions { tail_lines: Some(2), ..LogOptions::default() };
    ensure!(read(&streams, &tail).await? == "line 58\nline 59\n");
    Ok(())
}

async fn previous(pod: &mut Pod) -> Result<()> {
    let streams = streams(pod);
    let before = LogOptions { previous: true, ..LogOptions::default() };
    let waits = streams.logs(&target(), &LogOptions::default()).await.err().context("there is none")?;
    ensure!(waits.to_string() == "container \"main\" in pod \"box\" is not available", "{waits}");
    for number in 0..2 {
        let main = attempt("main", number);
        pod.start(&main, logged(pod, &format!("echo attempt {number}"), number)).await?;
        pod.exit(&main).await?;
        if number == 0 {
            let none = streams.logs(&target(), &before).await.err().context("there is none")?;
            let words = "previous terminated container \"main\" in pod \"box\" not found";
            ensure!((none.kind(), none.to_string().as_str()) == (Kind::Bad, words), "{none}");
        }
    }
    pod.client.done(Request::RemoveContainer { attempt: attempt("main", 0) }).await?;
    ensure!(read(&streams, &LogOptions::default()).await? == "attempt 1\n");
    ensure!(read(&streams, &before).await? == "attempt 0\n");
    Ok(())
}

async fn outlives(pod: &mut Pod) -> Result<()> {
    pod.run(logged(pod, "echo last words", 0)).await?;
    let streams = streams(pod);
    cleanup::remove(&pod.directory)?;
    for follow in [false, true] {
        let options = LogOptions { follow, ..LogOptions::default() };
        ensure!(read(&streams, &options).await? == "last words\n");
    }
    Ok(())
}

async fn of_one_stream(pod: &mut Pod) -> Result<()> {
    pod.run(logged(pod, "echo out; echo err >&2", 0)).await?;
    let of = |stream| LogOptions { stream, ..LogOptions::default() };
    ensure!(read(&streams(pod), &of(LogStream::Stdout)).await? == "out\n");
    ensure!(read(&streams(pod), &of(LogStream::Stderr)).await? == "err\n");
    Ok(())
}

async fn silent(pod: &mut Pod) -> Result<()> {
    pod.start(&attempt("main", 0), logged(pod, "until [ -e /tmp/go ]; do :; done", 0)).await?;
    let streams = streams(pod);
    let options = LogOptions { follow: true, ..LogOptions::default() };
    let reading = tokio::spawn(async move { read(&streams, &options).await });
    talk(shell(&super::streams(pod), "echo > /tmp/go", EVERYTHING).await?, "").await?;
    ensure!(reading.await??.is_empty());
    Ok(())
}
