//! `asb exec`, `shell`, `logs` and `top` on a Sandbox that runs.

use anyhow::{Context, Result};
use asb_tests::wait;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::stage::{BUSYBOX, PATIENCE, Stage};

#[tokio::test]
async fn exec_carries_input_output_errors_and_the_exit_code() -> Result<()> {
    let stage = Stage::set().await?;
    stage.idle("box").await?;
    let echoed = stage.asb(&["exec", "-i", "box", "--", "cat"], "typed in").await?;
    assert_eq!((echoed.code, echoed.stdout.as_str()), (Some(0), "typed in"), "{echoed:?}");
    let said = stage.asb(&["exec", "box", "--", "sh", "-c", "echo out; echo err >&2; exit 7"], "").await?;
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (Some(7), "out\n", "err\n"));
    let missing = stage.asb(&["exec", "box", "--", "no-such-command"], "").await?;
    assert_eq!(missing.code, Some(127), "{missing:?}");
    let shell = stage.asb(&["shell", "box"], "echo $((6*7)); exit 5\n").await?;
    assert_eq!((shell.code, shell.stdout.as_str()), (Some(5), "42\n"), "{shell:?}");
    let much = stage.asb(&["exec", "box", "--", "seq", "1", "50000"], "").await?;
    assert_eq!(much.stdout.lines().count(), 50_000);
    stage.finish().await
}

#[tokio::test]
async fn logs_are_shown_from_the_end_and_followed() -> Result<()> {
    let stage = Stage::set().await?;
    let script = "for i in 1 2 3; do echo line $i; done; trap 'exit 0' TERM; while ! [ -e /go ]; do sleep 0.1; done; echo last";
    stage.answer(&["run", "-d", "--name", "box", "--image", BUSYBOX, "--", "sh", "-c", script]).await?;
    let written =
        || async { (stage.answer(&["logs", "box"]).await.ok()? == "line 1\nline 2\nline 3\n").then_some(()) };
    wait::until(PATIENCE, "the three lines", written).await?;
    assert_eq!(stage.answer(&["logs", "--tail", "1", "box"]).await?, "line 3\n");
    let stamped = stage.answer(&["logs", "--timestamps", "--tail", "1", "box"]).await?;
    assert!(stamped.starts_with("20") && stamped.ends_with("Z line 3\n"), "{stamped}");
    let mut follow = stage.command(&["logs", "-f", "--tail", "1", "box"])?.spawn()?;
    let mut lines = BufReader::new(follow.stdout.take().context("it is piped")?).lines();
    assert_eq!(lines.next_line().await?.as_deref(), Some("line 3"));
    stage.answer(&["exec", "box", "--", "touch", "/go"]).await?;
    assert_eq!(tokio::time::timeout(PATIENCE, lines.next_line()).await??.as_deref(), Some("last"));
    assert!(tokio::time::timeout(PATIENCE, follow.wait()).await??.success());
    stage.finish().await
}

#[tokio::test]
async fn a_node_tells_what_its_sandboxes_use() -> Result<()> {
    let stage = Stage::set().await?;
    stage.idle("box").await?;
    let measured = || async {
        let table = stage.answer(&["top", "box"]).await.ok()?;
        table.lines().nth(1)?.contains("iB").then_some(table)
    };
    let table = wait::until(PATIENCE, "a reading of box", measured).await?;
    assert!(table.starts_with("NAME   CPU    MEMORY\nbox"), "{table}");
    stage.finish().await
}
