//! `asb image`, with a daemon and without. Images need root.

use std::fs::{self, File};
use std::process::Stdio;

use anyhow::{Context, Result};
use asb_node::images::digest::Digest;
use asb_node::images::platform::Platform;
use serde_json::{Value, json};
use tar::{Builder, Header};

use crate::home::{Home, is_root};
use crate::stage::said;

/// What `docker save` writes for a small image.
fn saved(home: &Home, tag: &str, content: &[u8]) -> Result<std::path::PathBuf> {
    let platform = Platform::of_this_machine();
    let layer = archive(&[("file", content)])?;
    let config = json!({"os": platform.os, "architecture": platform.architecture,
        "rootfs": {"type": "layers", "diff_ids": [Digest::of(&layer)]}});
    let manifest = json!([{"Config": "config.json", "RepoTags": [tag], "Layers": ["layer.tar"]}]);
    let whole = archive(&[
        ("config.json", config.to_string().as_bytes()),
        ("layer.tar", &layer),
        ("manifest.json", manifest.to_string().as_bytes()),
    ])?;
    let path = home.directory.path().join("saved.tar");
    fs::write(&path, whole)?;
    Ok(path)
}

fn archive(files: &[(&str, &[u8])]) -> Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, name, *content)?;
    }
    Ok(archive.into_inner()?)
}

async fn live_and_let_die(home: &Home) -> Result<()> {
    let path = saved(home, "team.example/tiny:1", b"hello")?;
    assert_eq!(home.answer(&format!("image load {}", path.display())).await?, "team.example/tiny:1\n");
    let listed: Value = serde_json::from_str(&home.answer("image ls -o json").await?)?;
    assert_eq!(listed[0]["references"], json!(["team.example/tiny:1"]));
    let table = home.answer("image ls").await?;
    let id = table.lines().nth(1).and_then(|row| row.split_whitespace().nth(1)).context("a row")?;
    let removed = home.answer(&format!("image rm {id}")).await?;
    assert!(removed.starts_with(&format!("{id} removed, ")), "{removed}");
    let refused = home.asb("image rm team.example/tiny:1").await?;
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("there is no image `team.example/tiny:1`"), "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn images_come_and_go_through_the_daemon() -> Result<()> {
    if !is_root() {
        return Ok(());
    }
    let home = Home::new()?;
    home.answer("up --detach --no-operator --listen 127.0.0.1:0").await?;
    live_and_let_die(&home).await
}

#[tokio::test]
async fn images_come_and_go_without_a_daemon() -> Result<()> {
    if !is_root() {
        return Ok(());
    }
    live_and_let_die(&Home::new()?).await
}

#[tokio::test]
async fn images_are_loaded_from_a_pipe_and_pruned() -> Result<()> {
    if !is_root() {
        return Ok(());
    }
    let home = Home::new()?;
    let path = saved(&home, "tiny:1", b"hello")?;
    let mut load = home.command("image load -")?;
    load.stdin(Stdio::from(File::open(&path)?));
    assert_eq!(said(load).await?.stdout, "docker.io/library/tiny:1\n");
    assert_eq!(home.answer("image prune").await?, "0 images removed, 0 B freed\n");
    assert!(home.answer("image prune --all").await?.starts_with("1 image removed, "));
    let left = fs::read_dir(home.directory.path())?.filter_map(Result::ok).map(|entry| entry.file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with("load-")));
    Ok(())
}

#[tokio::test]
async fn without_a_daemon_and_root_images_are_out_of_reach() -> Result<()> {
    let refused = Home::of_nobody()?.asb("image ls").await?;
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("only root can do this"), "{refused:?}");
    Ok(())
}
