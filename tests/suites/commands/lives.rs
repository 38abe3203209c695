//! The life of a Sandbox, from the command that makes it to the one that removes it.

use anyhow::{Context, Result};
use asb_tests::wait;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::stage::Stage;

const RUN: &str = "run -d --name box --image busybox -- sleep infinity";

#[tokio::test]
async fn a_sandbox_is_made_listed_described_and_removed() -> Result<()> {
    let stage = Stage::set().await?;
    assert_eq!(stage.answer(RUN).await?, "box\n");
    let table = stage.answer("ls").await?;
    assert!(
        table.starts_with("NAME   STATUS    READY   OWNER   AGE\nbox    Running   yes     -       "),
        "{table}"
    );
    assert_eq!(stage.answer("ls -o name").await?, "sandbox/box\n");
    let page = stage.answer("describe box").await?;
    for part in ["Sandbox      box\n", "Status       Running\n", "  main          busybox\n"] {
        assert!(page.contains(part), "{part:?} is not in:\n{page}");
    }
    assert_eq!(stage.answer("rm box").await?, "sandbox/box removed\n");
    let empty = stage.asb("ls").await?;
    assert_eq!((empty.code, empty.stdout.as_str()), (Some(0), ""));
    assert_eq!(empty.stderr, "there are no sandboxes in namespace \"default\"\n");
    Ok(())
}

#[tokio::test]
async fn what_is_shown_to_programs_is_the_object() -> Result<()> {
    let stage = Stage::set().await?;
    stage.answer(RUN).await?;
    let object: Value = serde_json::from_str(&stage.answer("describe box -o json").await?)?;
    let container = &object["spec"]["podTemplate"]["spec"]["containers"][0];
    assert_eq!((&object["kind"], &container["image"]), (&"Sandbox".into(), &"busybox".into()));
    assert_eq!(container["command"], serde_json::json!(["sleep", "infinity"]));
    let list: Value = serde_json::from_str(&stage.answer("ls -o json").await?)?;
    assert_eq!(list["items"][0]["metadata"]["name"], "box");
    let yaml: Value = serde_saphyr::from_str(&stage.answer("ls -o yaml").await?)?;
    assert_eq!(yaml["items"][0]["metadata"]["name"], "box");
    Ok(())
}

#[tokio::test]
async fn a_sandbox_is_suspended_and_resumed() -> Result<()> {
    let stage = Stage::set().await?;
    stage.answer(RUN).await?;
    assert_eq!(stage.answer("suspend box").await?, "sandbox/box suspended\n");
    assert!(
        stage.answer("ls").await?.contains("box    Suspended   SandboxSuspended"),
        "{}",
        stage.answer("ls").await?
    );
    let refused = stage.asb("exec box -- true").await?;
    assert_eq!(refused.code, Some(125));
    assert_eq!(refused.stderr, "error: Sandbox \"box\" is suspended\n  `asb resume box` starts it\n");
    assert_eq!(stage.answer("resume box").await?, "sandbox/box resumed\n");
    assert!(stage.answer("ls").await?.contains("box    Running   yes"));
    Ok(())
}

#[tokio::test]
async fn events_are_shown_and_followed() -> Result<()> {
    let stage = Stage::set().await?;
    let mut watch = stage.command("events --watch")?.spawn()?;
    let mut lines = BufReader::new(watch.stdout.take().context("it is piped")?).lines();
    stage.answer("pool create warm --image busybox --size 1").await?;
    stage.answer("claim warm --name mine").await?;
    let mut line = String::new();
    while !line.contains("  sandboxclaim/mine  ") {
        line = tokio::time::timeout(wait::DEADLINE, lines.next_line()).await??.context("a line")?;
    }
    let table = stage.answer("events mine").await?;
    assert!(table.starts_with("AGO ") && table.contains("sandboxclaim/mine"), "{table}");
    let others = stage.asb("events -n kube-public").await?;
    assert_eq!(others.stderr, "nothing happened that is still remembered\n");
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_measured_is_said() -> Result<()> {
    let stage = Stage::set().await?;
    stage.answer(RUN).await?;
    let said = stage.asb("top").await?;
    assert_eq!(said.code, Some(1));
    assert!(
        said.stderr.starts_with("error: nothing here says what sandboxes use: there is no metrics API"),
        "{said:?}"
    );
    Ok(())
}
