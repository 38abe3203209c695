//! What cannot be done is refused with the reason, and with what to do next.

use anyhow::{Context, Result};
use asb_tests::wait;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::stage::{Stage, said};

#[tokio::test]
async fn a_name_that_is_taken_is_refused() -> Result<()> {
    let stage = Stage::set().await?;
    stage.answer("run -d --name box --image busybox").await?;
    let taken = stage.asb("run --name box --image busybox -- true").await?;
    assert_eq!(taken.code, Some(125));
    assert!(taken.stderr.contains("already exists") && taken.stderr.contains("`asb rm`"), "{taken:?}");
    Ok(())
}

#[tokio::test]
async fn a_spec_that_is_refused_is_told_with_its_field() -> Result<()> {
    let stage = Stage::set().await?;
    let mut run = stage.command("run --name box --image")?;
    run.args([" busybox", "--", "true"]);
    let refused = said(run).await?;
    assert_eq!(refused.code, Some(125));
    assert!(refused.stderr.contains("error: InvalidConfiguration: "), "{refused:?}");
    assert!(refused.stderr.contains("spec.containers[0].image"), "{refused:?}");
    assert!(refused.stderr.contains("`asb rm box` removes it"), "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn what_may_pass_is_told_while_it_lasts() -> Result<()> {
    let stage = Stage::set().await?;
    let mut run = stage.command("run --image busybox --name box --runtime none -- true")?.spawn()?;
    let mut complaints = BufReader::new(run.stderr.take().context("it is piped")?).lines();
    let line = tokio::time::timeout(wait::DEADLINE, complaints.next_line()).await??.context("a line")?;
    assert!(line.starts_with("box: waiting: ReconcilerError: "), "{line}");
    assert!(line.ends_with("RuntimeClass \"none\" not found"), "{line}");
    Ok(())
}

#[tokio::test]
async fn a_flag_before_a_command_that_does_not_know_it_is_refused() -> Result<()> {
    let stage = Stage::set().await?;
    let refused = stage.asb("-n team version").await?;
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("are for commands about sandboxes"), "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn a_container_that_is_not_there_is_told_with_those_that_are() -> Result<()> {
    let stage = Stage::set().await?;
    stage.answer("run -d --name box --image busybox").await?;
    let refused = stage.asb("logs box -c other").await?;
    assert_eq!(refused.stderr, "error: Sandbox \"box\" has no container \"other\"; it has main\n");
    Ok(())
}
