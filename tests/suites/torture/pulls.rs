//! `asb up`, killed in the middle of a pull: half an image is none, and what was fetched is not fetched again.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use asb_operator::Dice;
use serde_json::Value;

use crate::chance::seed;
use crate::daemon::Daemon;
use crate::home::Home;
use crate::registry::Registry;

const KILLS: u64 = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_an_image_is_none_and_is_gone_on_with() -> Result<()> {
    let dice = Dice::seeded(seed()?);
    let (home, registry) = (Home::new()?, Registry::open().await?);
    let image = registry.publish(1)?;
    let size = registry.size();
    let mut most = 0;
    for _ in 0..KILLS {
        let (daemon, _) = Daemon::start(&home).await?;
        ensure!(listed(&home).await?.is_empty(), "half an image is listed");
        // Somewhere in what is left, but never to its end.
        most += 1 + dice.roll() % (size / KILLS);
        registry.allow(most.min(size - (64 << 10)));
        let pull = home.command(&["image", "pull", &image])?.stderr(Stdio::null()).spawn()?;
        registry.stalled().await?;
        daemon.kill().await?;
        let ended = pull.wait_with_output().await?;
        ensure!(!ended.status.success(), "a pull is said to be done that was killed");
    }
    registry.allow(u64::MAX);
    let (daemon, _) = Daemon::start(&home).await?;
    home.answer(&["image", "pull", &image]).await?;
    let listed = listed(&home).await?;
    let references = listed.first().map(|it| it["references"].clone()).context("the image is here")?;
    assert_eq!(references, serde_json::json!([image]));
    assert!(registry.served() < 2 * size, "{} bytes were fetched of {size}", registry.served());
    home.answer(&["image", "prune", "--all"]).await?;
    for folder in ["layers", "blobs", "records", "names", "partial", "scratch"] {
        let left = crate::census::entries(&home.path().join("node/images").join(folder));
        assert_eq!(left, [""; 0], "{folder}");
    }
    home.finish(daemon).await
}

/// The images that are here, but for this machine's own.
async fn listed(home: &Home) -> Result<Vec<Value>> {
    let all: Vec<Value> = serde_json::from_str(&home.answer(&["image", "ls", "-o", "json"]).await?)?;
    let is_own = |image: &Value| image.to_string().contains("asb.local/host");
    Ok(all.into_iter().filter(|image| !is_own(image)).collect())
}
