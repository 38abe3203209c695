//! Programs on top of the Go and Python client libraries, with a Pod that really runs.

use std::ffi::OsString;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use asb_tests::objects::object;
use asb_tests::wait;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{AttachParams, LogParams, PostParams};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use crate::stage::{BUSYBOX, PATIENCE, Stage, kubeconfig};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/python/streams.py");
const PORT: &str = "9000";

fn given(variable: &str) -> Result<OsString> {
    std::env::var_os(variable).with_context(|| format!("{variable} is not set; `cargo xtask test` does it"))
}

/// A Sandbox that repeats on a port what it is told there.
async fn echo(stage: &Stage) -> Result<()> {
    let serve = format!("echo serving; exec nc -ll -p {PORT} -e cat");
    let run = ["run", "-d", "--name", "box", "--image", BUSYBOX, "--", "sh", "-c", &serve];
    stage.answer(&run).await.map(drop)
}

/// What a program says about the Sandbox.
async fn lines(mut command: Command, stage: &Stage) -> Result<Vec<String>> {
    command.args(["box", PORT, stage.namespace.name()]).env("KUBECONFIG", kubeconfig()?);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.context("it goes on")??;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect())
}

#[tokio::test]
async fn client_go_forwards_ports_and_runs_commands_over_both_transports() -> Result<()> {
    let stage = Stage::set().await?;
    echo(&stage).await?;
    let mut command = Command::new(given("ASB_TEST_GO_CLIENT")?);
    command.arg("streams");
    let ran = ["SPDY", "WebSocket"].map(|it| format!(r#"{it}: stdout "input", stderr "problem\n", exit 7"#));
    let expected = [&["echoed 1048576"; 3][..], &ran.each_ref().map(String::as_str)].concat();
    assert_eq!(lines(command, &stage).await?, expected);
    stage.finish().await
}

#[tokio::test]
async fn the_python_client_runs_commands_and_forwards_ports() -> Result<()> {
    let stage = Stage::set().await?;
    echo(&stage).await?;
    let mut command = Command::new(given("ASB_TEST_PYTHON")?);
    command.arg(SCRIPT);
    let expected = [
        "ran ['err', 'out']",
        "read hello over v5.channel.k8s.io",
        "exit 7",
        "read hello over v4.channel.k8s.io",
        "exit 7",
        "echoed 262144 True error None",
    ];
    assert_eq!(lines(command, &stage).await?, expected);
    stage.finish().await
}

#[tokio::test]
async fn kube_rs_attaches_and_reads_logs() -> Result<()> {
    let stage = Stage::set().await?;
    let script = "echo begun; while read line; do echo you said $line; done";
    let container = json!({"name": "main", "image": BUSYBOX, "command": ["sh", "-c", script], "stdin": true});
    let pods = stage.namespace.api::<Pod>();
    pods.create(&PostParams::default(), &object("box", json!({"containers": [container]}))).await?;
    let runs = |pod: &Pod| pod.status.as_ref().is_some_and(|it| it.phase.as_deref() == Some("Running"));
    wait::for_object_within(PATIENCE, &pods, "box", "running", runs).await?;
    let mut process = pods.attach("box", &AttachParams::default().stdin(true).stderr(false)).await?;
    process.stdin().context("it was asked for")?.write_all(b"hello\n").await?;
    let mut output = process.stdout().context("it was asked for")?;
    let mut said = Vec::new();
    let answer = async {
        while !said.ends_with(b"you said hello\n") {
            said.push(output.read_u8().await?);
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(PATIENCE, answer).await.context("nothing is said")??;
    let log = pods.logs("box", &LogParams { tail_lines: Some(1), ..LogParams::default() }).await?;
    assert_eq!(log, "you said hello\n");
    stage.finish().await
}
