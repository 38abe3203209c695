//! Joining a container, reaching its ports, and what it uses.

use anyhow::{Context, Result, ensure};
use asb_node::shim::plan::Stdin;
use asb_node::streams::{Size, Wanted};
use libtest_mimic::Trial;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{EVERYTHING, TERMINAL, streams, talk, target, waiting};
use crate::fixture::{Pod, attempt, trial};

pub(super) fn trials() -> Vec<Trial> {
    vec![
        trial("who_joins_a_container_types_into_it_and_sees_what_it_writes", attached),
        trial("who_joins_a_container_may_read_one_stream_when_the_other_is_closed", half_closed),
        trial("who_joins_a_terminal_sets_its_size", attached_terminal),
        trial("who_leaves_a_container_does_not_end_it", left),
        trial("a_port_of_the_loopback_of_a_pod_can_be_reached", port),
        trial("what_a_container_uses_is_measured", usage),
    ]
}

async fn attached(pod: &mut Pod) -> Result<()> {
    let mut plan = pod.shell("cat; echo end >&2; exit 3");
    plan.stdin = Stdin::Once;
    pod.start(&attempt("main", 0), plan).await?;
    let said = talk(streams(pod).attach(&target(), EVERYTHING).await?, "typed").await?;
    ensure!(said == (0, "typed".to_owned(), "end\n".to_owned()), "{said:?}");
    Ok(())
}

async fn half_closed(pod: &mut Pod) -> Result<()> {
    let mut plan = pod.shell("exec >&-; echo > /tmp/closed; cat >&2");
    plan.stdin = Stdin::Once;
    pod.start(&attempt("main", 0), plan).await?;
    let streams = streams(pod);
    let closed = super::shell(&streams, "until [ -e /tmp/closed ]; do :; done", EVERYTHING).await?;
    ensure!(talk(closed, "").await?.0 == 0);
    let said = talk(streams.attach(&target(), EVERYTHING).await?, "typed").await?;
    ensure!(said == (0, String::new(), "typed".to_owned()), "{said:?}");
    Ok(())
}

async fn attached_terminal(pod: &mut Pod) -> Result<()> {
    let mut plan = pod.shell("read line; until [ \"$(stty size)\" = '40 120' ]; do :; done; echo got $line");
    (plan.process.tty, plan.stdin) = (true, Stdin::Open);
    pod.start(&attempt("main", 0), plan).await?;
    let session = streams(pod).attach(&target(), TERMINAL).await?;
    session.size.as_ref().context("it has a terminal")?.send_replace(Size { columns: 120, rows: 40 });
    let (code, text, _) = talk(session, "word\n").await?;
    ensure!(code == 0 && text.ends_with("got word\r\n"), "{code} {text:?}");
    Ok(())
}

async fn left(pod: &mut Pod) -> Result<()> {
    let mut plan = pod.shell("while read line; do echo got $line; done");
    plan.stdin = Stdin::Open;
    pod.start(&attempt("main", 0), plan).await?;
    for word in ["one\n", "two\n"] {
        let mut session = streams(pod).attach(&target(), EVERYTHING).await?;
        session.stdin.take().context("it is wanted")?.write_all(word.as_bytes()).await?;
        let mut said = [0; 8];
        session.stdout.take().context("it is wanted")?.read_exact(&mut said).await?;
        ensure!(said == format!("got {word}").as_bytes(), "{said:?}");
    }
    Ok(())
}

async fn port(pod: &mut Pod) -> Result<()> {
    let mut plan = pod.payload(&["listen", "7777"]);
    plan.process.capabilities.push("NET_ADMIN".to_owned());
    pod.start(&attempt("main", 0), plan).await?;
    pod.until(|| pod.log() == "listening\n").await?;
    let streams = streams(pod);
    let mut stream = streams.port_forward("team", "box", 7777).await?;
    stream.write_all(b"word").await?;
    stream.shutdown().await?;
    let mut said = String::new();
    stream.read_to_string(&mut said).await?;
    ensure!(said == "word", "{said}");
    let refused = streams.port_forward("team", "box", 7778).await.err().context("nobody listens")?;
    ensure!(refused.to_string().contains("localhost:7778"), "{refused}");
    Ok(())
}

async fn usage(pod: &mut Pod) -> Result<()> {
    let streams = waiting(pod).await?;
    let wanted = Wanted { stdout: true, ..Wanted::default() };
    let _busy = super::shell(&streams, "while :; do :; done", wanted).await?;
    let told = streams.usage(|_| true).await;
    let [of_pod] = &told[..] else { anyhow::bail!("{told:?}") };
    let [main] = &of_pod.containers[..] else { anyhow::bail!("{told:?}") };
    ensure!(main.name == "main" && main.cpu_nano > 1_000_000 && main.memory_bytes > 10_000, "{main:?}");
    ensure!(streams.usage(|_| false).await.is_empty());
    Ok(())
}
