//! `asb cp`, in both directions.

use std::fs;

use anyhow::Result;
use tempfile::TempDir;

use crate::stage::Stage;

#[tokio::test]
async fn trees_go_in_and_come_out_unchanged() -> Result<()> {
    let stage = Stage::set().await?;
    stage.idle("box").await?;
    let place = TempDir::new()?;
    let here = |name: &str| place.path().join(name).display().to_string();
    fs::create_dir_all(place.path().join("src/deep"))?;
    fs::write(place.path().join("src/deep/large"), vec![7_u8; 3_000_000])?;
    fs::write(place.path().join("src/a file"), "text")?;
    stage.answer(&["cp", &here("src"), "box:/tmp/"]).await?;
    assert_eq!(stage.answer(&["exec", "box", "--", "cat", "/tmp/src/a file"]).await?, "text");
    stage.answer(&["cp", "box:/tmp/src", &here("back")]).await?;
    assert_eq!(fs::read(place.path().join("back/deep/large"))?, vec![7_u8; 3_000_000]);
    assert_eq!(fs::read_to_string(place.path().join("back/a file"))?, "text");
    stage.answer(&["cp", &here("src/a file"), "box:/tmp/renamed"]).await?;
    stage.answer(&["cp", "box:/tmp/renamed", &here("")]).await?;
    assert_eq!(fs::read_to_string(place.path().join("renamed"))?, "text");
    stage.finish().await
}

#[tokio::test]
async fn what_is_not_there_and_what_is_no_file_is_told() -> Result<()> {
    let stage = Stage::set().await?;
    stage.idle("box").await?;
    let place = TempDir::new()?;
    let here = place.path().display().to_string();
    let missing = stage.asb(&["cp", "box:/no/such/file", &here], "").await?;
    assert_eq!(missing.code, Some(1));
    assert!(missing.stderr.starts_with("error: cannot read in the sandbox: tar: "), "{missing:?}");
    stage
        .answer(&["exec", "box", "--", "sh", "-c", "mkdir /d; ln -s /etc/passwd /d/link; echo x > /d/file"])
        .await?;
    let linked = stage.asb(&["cp", "box:/d", &here], "").await?;
    assert_eq!(linked.code, Some(0), "{linked:?}");
    assert_eq!(linked.stderr, "left out: ./d/link: links are not copied out of a sandbox\n");
    assert!(!place.path().join("d/link").exists() && place.path().join("d/file").exists());
    let both = stage.asb(&["cp", "box:/d", "box:/e"], "").await?;
    assert!(both.stderr.contains("both are in sandboxes"), "{both:?}");
    stage.finish().await
}
