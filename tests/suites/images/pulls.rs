//! Pulling from a registry that anybody may use.

use anyhow::{Context, Result};
use asb_node::images::pull::{Class, Progress, Stage};
use asb_node::images::registry::Registry;
use tokio::sync::watch;

use crate::image::{Image, archive, index, noise};
use crate::line::Line;
use crate::push;
use crate::server::{Guard, Server};
use crate::shelf::{Shelf, mirrors, registry};

/// Three layers, one of which takes a while.
fn image() -> Result<Image> {
    Image::of(&[
        archive(&[("etc/motd", b"welcome"), ("etc/old", b"old")])?,
        archive(&[("large", &noise(1024))])?,
        archive(&[("etc/.wh.old", b""), ("etc/new", b"new")])?,
    ])
}

async fn stocked() -> Result<(Server, Image)> {
    let (server, image) = (Server::start(Guard::Nobody)?, image()?);
    push::image(&server.address, "team/app", "1", &image).await?;
    Ok((server, image))
}

#[tokio::test]
async fn an_image_that_was_pushed_is_pulled_by_tag_and_by_digest() -> Result<()> {
    let (server, image) = stocked().await?;
    let shelf = Shelf::plain()?;
    let by_tag = format!("{}/team/app:1", server.address);
    let (progress, seen) = watch::channel(Progress::default());
    let pulled = shelf.pull_seen(&by_tag, &progress).await?;
    assert_eq!((pulled.id, pulled.digest), (image.id(), image.digest()));
    assert_eq!(shelf.read(&by_tag, 0, "etc/motd").await?, b"welcome");
    assert_eq!(shelf.read(&by_tag, 1, "large").await?, noise(1024));
    assert_eq!(shelf.read(&by_tag, 2, "etc/new").await?, b"new");
    assert!(
        seen.borrow().layers.iter().all(|layer| layer.stage == Stage::Done && layer.bytes == layer.total)
    );
    let by_digest = format!("{}/team/app@{}", server.address, image.digest());
    let shelf = Shelf::plain()?;
    shelf.pull(&by_digest).await?;
    assert_eq!(shelf.read(&by_digest, 0, "etc/motd").await?, b"welcome");
    assert_eq!(shelf.partial()?, 0);
    Ok(())
}

#[tokio::test]
async fn the_variant_for_this_machine_is_pulled() -> Result<()> {
    let (server, image) = stocked().await?;
    let other = Image::of(&[archive(&[("other", b"")])?])?;
    push::image(&server.address, "team/app", "other", &other).await?;
    let index = index(&image, &other);
    let kind = "application/vnd.oci.image.index.v1+json";
    push::manifest(&server.address, "team/app", "many", kind, &index).await?;
    let pulled = Shelf::plain()?.pull(&format!("{}/team/app:many", server.address)).await?;
    assert_eq!(pulled.id, image.id());
    Ok(())
}

#[tokio::test]
async fn what_is_not_there_is_not_found() -> Result<()> {
    let (server, _) = stocked().await?;
    let shelf = Shelf::plain()?;
    for missing in ["team/app:2", "team/nothing:1"] {
        let reference = format!("{}/{missing}", server.address);
        let error = shelf.pull(&reference).await.expect_err("nothing to pull");
        assert_eq!(error.class(), Class::NotFound);
        assert!(error.to_string().contains("not found"), "{error}");
    }
    Ok(())
}

#[tokio::test]
async fn a_registry_that_is_gone_is_unreachable() -> Result<()> {
    let address = Server::start(Guard::Nobody)?.address.clone();
    let shelf = Shelf::new(registry("nobody", Registry::default()))?;
    assert_eq!(shelf.class(&format!("{address}/team/app:1")).await, Class::Unreachable);
    Ok(())
}

#[tokio::test]
async fn a_download_goes_on_over_a_line_that_breaks() -> Result<()> {
    let (server, image) = stocked().await?;
    let line = Line::to(&server.address, 3, 200_000).await?;
    let reference = format!("{}/team/app:1", line.address);
    let shelf = Shelf::plain()?;
    shelf.pull(&reference).await?;
    assert_eq!(shelf.read(&reference, 1, "large").await?, noise(1024));
    assert_eq!(line.cuts_left(), 0);
    let size: usize = image.layers.iter().map(Vec::len).sum();
    assert!(line.passed() < size as u64 + 100_000, "{} of {size} bytes came through", line.passed());
    Ok(())
}

#[tokio::test]
async fn a_pull_that_was_given_up_is_gone_on_with_later() -> Result<()> {
    let (server, image) = stocked().await?;
    let line = Line::to(&server.address, usize::MAX, 400_000).await?;
    let reference = format!("{}/team/app:1", line.address);
    let shelf = Shelf::plain()?;
    let (progress, mut seen) = watch::channel(Progress::default());
    {
        let pull = shelf.pull_seen(&reference, &progress);
        let far = seen.wait_for(|progress| progress.bytes() > 100_000);
        tokio::select! {
            pulled = pull => pulled.map(drop).context("the pull was to be given up")?,
            far = far => drop(far?),
        }
    }
    assert!(shelf.partial()? > 0);
    let before = line.passed();
    shelf.pull(&reference).await?;
    let size: usize = image.layers.iter().map(Vec::len).sum();
    let after = line.passed() - before;
    assert!(after < size as u64, "{after} of {size} bytes came through again");
    Ok(())
}

#[tokio::test]
async fn content_that_the_registry_lost_is_not_taken() -> Result<()> {
    let (server, image) = stocked().await?;
    server.damage(&asb_node::images::digest::Digest::of(&image.layers[1]))?;
    let shelf = Shelf::plain()?;
    let reference = format!("{}/team/app:1", server.address);
    let error = shelf.pull(&reference).await.expect_err("damaged");
    assert_eq!(error.class(), Class::Unusable, "{error}");
    assert!(shelf.images.store().list()?.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_mirror_stands_for_a_registry_that_cannot_be_reached() -> Result<()> {
    let (server, image) = stocked().await?;
    let shelf = Shelf::new(registry("registry.invalid", mirrors(&[&server.address])?))?;
    assert_eq!(shelf.pull("registry.invalid/team/app:1").await?.id, image.id());
    Ok(())
}

#[tokio::test]
async fn mirrors_that_do_not_help_leave_the_registry_itself() -> Result<()> {
    let (server, image) = stocked().await?;
    let empty = Server::start(Guard::Nobody)?;
    let gone = Server::start(Guard::Nobody)?.address.clone();
    let lying = Server::start(Guard::Nobody)?;
    push::image(&lying.address, "team/app", "1", &image).await?;
    lying.damage(&asb_node::images::digest::Digest::of(&image.layers[1]))?;
    let mirrors = mirrors(&[&gone, &empty.address, &lying.address])?;
    let shelf = Shelf::new(registry(&server.address, mirrors))?;
    let reference = format!("{}/team/app:1", server.address);
    assert_eq!(shelf.pull(&reference).await?.id, image.id());
    assert_eq!(shelf.read(&reference, 1, "large").await?, noise(1024));
    Ok(())
}
