//! Standard input and terminals.

use anyhow::{Context, Result};
use kube::api::AttachParams;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::spec::{With, once, sh};
use crate::stage::{Stage, exit, has_ended, phase};

#[tokio::test]
async fn whoever_attaches_is_heard() -> Result<()> {
    let stage = Stage::set().await?;
    let script = "read first; echo one $first; read second; echo two $second";
    stage.start("listener", once(sh(script).with(json!({"stdin": true})))).await?;
    let parameters = AttachParams::default().stdin(true).stdout(true).stderr(true).container("main");
    // Input stays open from one attach to the next.
    for line in ["hello\n", "again\n"] {
        let mut process = stage.pods().attach("listener", &parameters).await?;
        let mut input = process.stdin().context("an input")?;
        input.write_all(line.as_bytes()).await?;
        input.flush().await?;
        let mut output = process.stdout().context("an output")?;
        let mut word = [0_u8; 3];
        output.read_exact(&mut word).await?;
        drop(input);
        process.abort();
    }
    stage.until("listener", "ended", has_ended).await?;
    assert_eq!(stage.logs("listener", "main").await?, "one hello\ntwo again");
    stage.finish().await
}

#[tokio::test]
async fn input_may_end_with_the_first_who_attaches() -> Result<()> {
    let stage = Stage::set().await?;
    let container = sh("cat; echo end").with(json!({"stdin": true, "stdinOnce": true}));
    stage.start("once", once(container)).await?;
    let parameters = AttachParams::default().stdin(true).stdout(true).stderr(true).container("main");
    let mut process = stage.pods().attach("once", &parameters).await?;
    let mut input = process.stdin().context("an input")?;
    input.write_all(b"hello\n").await?;
    input.shutdown().await?;
    drop(input);
    // Its own way to say that nobody asked for the status.
    let _ = process.join().await;
    let pod = stage.until("once", "ended", has_ended).await?;
    assert_eq!(phase(&pod), "Succeeded");
    assert_eq!(stage.logs("once", "main").await?, "hello\nend");
    stage.finish().await
}

#[tokio::test]
async fn a_container_has_a_terminal_where_it_asks_for_one() -> Result<()> {
    let stage = Stage::set().await?;
    let script =
        "test -t 1 && echo terminal || echo none; test -t 0 && echo input || echo closed; read x || echo end";
    let with = stage.run("with", once(sh("test -t 1 && echo terminal").with(json!({"tty": true})))).await?;
    assert_eq!(with.trim_end(), "terminal");
    assert_eq!(stage.run("without", once(sh(script))).await?, "none\nclosed\nend");
    let pod = stage.until("without", "ended", has_ended).await?;
    assert_eq!(exit(&pod).map(|exit| exit.0), Some(0));
    stage.finish().await
}
