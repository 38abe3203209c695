//! Ctrl-C during `asb run`, as with other programs that run containers.

use anyhow::{Context, Result};
use asb_types::v1beta1::{OperatingMode, Sandbox};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::stage::{BUSYBOX, PATIENCE, Stage};

struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    /// Begins a run whose first line is `ready`.
    async fn begin(stage: &Stage, options: &[&str], script: &str) -> Result<Self> {
        let arguments = [&["run", "--image", BUSYBOX], options, &["--", "sh", "-c", script]].concat();
        let mut child = stage.command(&arguments)?.spawn()?;
        let lines = BufReader::new(child.stdout.take().context("it is piped")?).lines();
        let mut running = Self { child, lines };
        assert_eq!(running.line().await?.as_deref(), Some("ready"));
        Ok(running)
    }

    async fn line(&mut self) -> Result<Option<String>> {
        Ok(tokio::time::timeout(PATIENCE, self.lines.next_line()).await.context("nothing is said")??)
    }

    async fn interrupt(&self) -> Result<()> {
        let id = self.child.id().context("it runs")?.to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().await?.success());
        Ok(())
    }

    async fn code(&mut self) -> Result<Option<i32>> {
        Ok(tokio::time::timeout(PATIENCE, self.child.wait()).await.context("it goes on")??.code())
    }
}

#[tokio::test]
async fn the_first_interrupt_goes_to_the_command() -> Result<()> {
    let stage = Stage::set().await?;
    let script = "trap 'echo bye; exit 42' INT; echo ready; while :; do sleep 0.1; done";
    let mut running = Running::begin(&stage, &["--rm"], script).await?;
    running.interrupt().await?;
    assert_eq!(running.line().await?.as_deref(), Some("bye"));
    assert_eq!(running.code().await?, Some(42));
    stage.finish().await
}

#[tokio::test]
async fn the_second_interrupt_stops_the_sandbox_and_keeps_what_is_its() -> Result<()> {
    let stage = Stage::set().await?;
    let script = "trap 'echo no' INT; trap 'exit 0' TERM; echo ready; while :; do sleep 0.1; done";
    let mut running = Running::begin(&stage, &["--name", "box"], script).await?;
    running.interrupt().await?;
    assert_eq!(running.line().await?.as_deref(), Some("no"));
    running.interrupt().await?;
    assert_eq!(running.code().await?, Some(130));
    let sandbox = stage.namespace.api::<Sandbox>().get("box").await?;
    assert_eq!(sandbox.spec.operating_mode, OperatingMode::Suspended);
    stage.finish().await
}

#[tokio::test]
async fn an_interrupt_before_the_command_has_begun_leaves_nothing() -> Result<()> {
    let stage = Stage::set().await?;
    let arguments = ["run", "--name", "box", "--cpu", "1000", "--image", BUSYBOX, "--", "true"];
    let mut child = stage.command(&arguments)?.spawn()?;
    let mut complaints = BufReader::new(child.stderr.take().context("it is piped")?).lines();
    let obstacle = tokio::time::timeout(PATIENCE, complaints.next_line()).await??.context("a line")?;
    assert!(obstacle.starts_with("box: waiting: Unschedulable: "), "{obstacle}");
    let lines = BufReader::new(child.stdout.take().context("it is piped")?).lines();
    let mut running = Running { child, lines };
    running.interrupt().await?;
    assert_eq!(running.code().await?, Some(130));
    assert!(stage.namespace.api::<Sandbox>().get_opt("box").await?.is_none());
    stage.finish().await
}
