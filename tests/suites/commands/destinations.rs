//! Where commands go, and what is said where nobody is.

use std::fs;

use anyhow::{Context, Result};
use asb_tests::program;
use kube::config::Kubeconfig;
use tempfile::TempDir;

use crate::stage::{Stage, bare, said, with_program};

#[tokio::test]
async fn without_a_daemon_commands_say_how_to_start_one() -> Result<()> {
    let home = TempDir::new()?;
    let nowhere = format!("--data-dir {}", home.path().display());
    let refused = said(bare(&format!("ls {nowhere}"))?).await?;
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("there is no kubeconfig at") && refused.stderr.contains("`asb up`"),
        "{refused:?}"
    );
    Ok(())
}

#[tokio::test]
async fn the_default_kubeconfig_counts_only_for_who_asks() -> Result<()> {
    let stage = Stage::set().await?;
    let home = TempDir::new()?;
    fs::create_dir(home.path().join(".kube"))?;
    fs::copy(stage.directory.path().join("kubeconfig"), home.path().join(".kube/config"))?;
    let nowhere = home.path().join("nowhere");
    let unasked = said(with_home(&home, bare("ls")?, &nowhere)).await?;
    assert_eq!(unasked.code, Some(1), "{unasked:?}");
    let context = Kubeconfig::read_from(stage.directory.path().join("kubeconfig"))?.current_context;
    let asked = format!("ls --context {}", context.context("the current context")?);
    assert_eq!(said(with_home(&home, bare(&asked)?, &nowhere)).await?.code, Some(0));
    let plugin = home.path().join("kubectl-sandbox");
    std::os::unix::fs::symlink(program()?, &plugin)?;
    let listed = said(with_home(&home, with_program(&plugin, "ls")?, &nowhere)).await?;
    assert_eq!(listed.code, Some(0), "{listed:?}");
    Ok(())
}

#[tokio::test]
async fn a_machine_reached_by_a_kubeconfig_has_its_own_image_and_mounts_nothing_of_here() -> Result<()> {
    let stage = Stage::set().await?;
    let kubeconfig = stage.directory.path().join("kubeconfig");
    let there = |line: &str| -> Result<_> {
        let mut command = bare(line)?;
        command.env("KUBECONFIG", &kubeconfig);
        Ok(command)
    };
    assert_eq!(said(there("run -d --name own -- true")?).await?.stdout, "own\n");
    let refused = said(there("run --image busybox --mount /tmp:/work -- true")?).await?;
    assert!(refused.stderr.starts_with("error: --mount gives a directory of this machine"), "{refused:?}");
    assert_eq!(said(there("run -d --name box --image busybox")?).await?.stdout, "box\n");
    Ok(())
}

fn with_home(
    home: &TempDir,
    mut command: tokio::process::Command,
    data: &std::path::Path,
) -> tokio::process::Command {
    command.env("HOME", home.path()).env("ASB_DATA_DIR", data);
    command
}
