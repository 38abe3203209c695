//! `asb run`: what the command says, and how it ends.

use anyhow::Result;
use asb_types::v1beta1::Sandbox;
use kube::api::ListParams;

use crate::stage::{BUSYBOX, Stage};

/// Runs a script in a Sandbox that goes with it.
fn script<'a>(options: &[&'a str], script: &'a str) -> Vec<&'a str> {
    [&["run", "--rm", "--image", BUSYBOX], options, &["--", "sh", "-c", script]].concat()
}

#[tokio::test]
async fn a_run_says_what_the_command_says_and_ends_as_it_does() -> Result<()> {
    let stage = Stage::set().await?;
    let said = stage.asb(&script(&["-e", "WORD=hello"], "echo $WORD; echo again; exit 3"), "").await?;
    assert_eq!((said.code, said.stdout.as_str()), (Some(3), "hello\nagain\n"), "{said:?}");
    let left = stage.namespace.api::<Sandbox>().list(&ListParams::default()).await?;
    assert_eq!(left.items.len(), 0, "it was to be removed");
    stage.finish().await
}

#[tokio::test]
async fn a_run_passes_its_input_on() -> Result<()> {
    let stage = Stage::set().await?;
    let said = stage.asb(&script(&["-i"], "cat; echo end"), "typed in\n").await?;
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "typed in\nend\n"), "{said:?}");
    stage.finish().await
}

#[tokio::test]
async fn much_output_arrives_whole() -> Result<()> {
    let stage = Stage::set().await?;
    let said = stage.asb(&script(&[], "seq 1 20000"), "").await?;
    assert_eq!((said.code, said.stdout.lines().count()), (Some(0), 20_000));
    assert!(said.stdout.ends_with("\n20000\n"));
    stage.finish().await
}

#[tokio::test]
async fn a_run_without_rm_stays_and_can_be_looked_at() -> Result<()> {
    let stage = Stage::set().await?;
    let run = ["run", "--name", "box", "--image", BUSYBOX, "--", "sh", "-c", "echo kept; exit 4"];
    assert_eq!(stage.asb(&run, "").await?.code, Some(4));
    assert_eq!(stage.answer(&["logs", "box"]).await?, "kept\n");
    let page = stage.answer(&["describe", "box"]).await?;
    assert!(page.contains("ended with 4"), "{page}");
    assert_eq!(stage.answer(&["rm", "box"]).await?, "sandbox/box removed\n");
    stage.finish().await
}

#[tokio::test]
async fn what_cannot_be_started_is_told_apart_from_what_fails() -> Result<()> {
    let stage = Stage::set().await?;
    let missing = stage.asb(&["run", "--rm", "--image", BUSYBOX, "--", "no-such-command"], "").await?;
    assert_eq!(missing.code, Some(127), "{missing:?}");
    assert!(missing.stderr.contains("could not be started"), "{missing:?}");
    let invalid = stage.asb(&["run", "--rm", "--image", "Not/Valid:", "--", "true"], "").await?;
    assert_eq!(invalid.code, Some(125), "{invalid:?}");
    assert!(invalid.stderr.contains("InvalidImageName"), "{invalid:?}");
    stage.finish().await
}

#[tokio::test]
async fn a_run_whose_time_is_up_is_stopped() -> Result<()> {
    let stage = Stage::set().await?;
    let endless = "trap 'exit 0' TERM; echo begun; while :; do sleep 0.1; done";
    let said = stage.asb(&script(&["--timeout", "2s"], endless), "").await?;
    assert_eq!((said.code, said.stdout.as_str()), (Some(124), "begun\n"), "{said:?}");
    assert!(said.stderr.contains("its time was up"), "{said:?}");
    stage.finish().await
}

#[tokio::test]
async fn limits_and_the_runtime_class_hold() -> Result<()> {
    let stage = Stage::set().await?;
    let said = stage.asb(&script(&["--runtime", "gvisor", "--memory", "64m"], "dmesg"), "").await?;
    assert!(said.stdout.contains("Starting gVisor"), "{said:?}");
    stage.finish().await
}

#[tokio::test]
async fn a_command_runs_in_a_sandbox_of_a_template() -> Result<()> {
    let stage = Stage::set().await?;
    let idle = "trap 'exit 0' TERM; while :; do sleep 0.2; done";
    stage
        .answer(&["pool", "create", "shells", "--image", BUSYBOX, "--size", "0", "--", "sh", "-c", idle])
        .await?;
    let run = ["run", "--rm", "--template", "shells", "--", "sh", "-c", "echo inside; exit 6"];
    let said = stage.asb(&run, "").await?;
    assert_eq!((said.code, said.stdout.as_str()), (Some(6), "inside\n"), "{said:?}");
    assert_eq!(stage.answer(&["ls", "claims", "-o", "name"]).await?, "");
    stage.finish().await
}
