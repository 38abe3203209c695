//! Those who use sandboxes while servers die under them, and remember what they were told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use asb_operator::Dice;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::reach::Reach;
use crate::registry::Registry;
use crate::sandbox::{Sandbox, exec, spec};

/// How many sandboxes one keeps at a time.
const KEPT: usize = 2;

/// What they have in common.
#[derive(Clone)]
pub(crate) struct Company {
    pub(crate) reach: Reach,
    /// How much was acknowledged to this one so far.
    pub(crate) progress: Arc<AtomicUsize>,
    pub(crate) stop: CancellationToken,
}

impl Company {
    /// For one more of them, who is counted apart.
    pub(crate) fn member(&self) -> Self {
        Self { progress: Arc::default(), ..self.clone() }
    }

    fn advance(&self) {
        self.progress.fetch_add(1, Ordering::SeqCst);
    }
}

/// Somebody who makes sandboxes, writes into them, suspends, resumes and deletes them, as chance has it.
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) dice: Dice,
    pub(crate) company: Company,
}

impl User {
    /// The sandboxes that are to be there in the end.
    pub(crate) async fn run(self) -> Result<Vec<Sandbox>> {
        let mut kept = Vec::new();
        let mut lives = 0;
        while !self.company.stop.is_cancelled() {
            lives += 1;
            let life = self.life(&format!("{}-{lives}", self.name)).await;
            kept.extend(life.with_context(|| format!("life {lives} of {}", self.name))?);
            if kept.len() > KEPT {
                kept.remove(0).delete(&self.company.reach).await?;
                self.company.advance();
            }
        }
        Ok(kept)
    }

    async fn life(&self, name: &str) -> Result<Option<Sandbox>> {
        let (reach, company) = (&self.company.reach, &self.company);
        let probed = if self.chance(2) { probes() } else { json!({}) };
        let mut sandbox = Sandbox::create(reach, name, spec(probed)).await?;
        company.advance();
        if self.chance(8) {
            // One that may never have run.
            sandbox.delete(reach).await?;
            company.advance();
            return Ok(None);
        }
        sandbox.ready(reach).await?;
        company.advance();
        for _ in 0..=self.dice.roll() % 3 {
            sandbox.write(reach).await?;
            company.advance();
        }
        if self.chance(2) {
            sandbox.suspend(reach).await?;
            company.advance();
            if self.chance(3) {
                return Ok(Some(sandbox));
            }
            sandbox.resume(reach).await?;
            sandbox.write(reach).await?;
            company.advance();
        }
        if self.chance(2) {
            return Ok(Some(sandbox));
        }
        sandbox.delete(reach).await?;
        company.advance();
        Ok(None)
    }

    fn chance(&self, of: u64) -> bool {
        self.dice.roll().is_multiple_of(of)
    }
}

fn probes() -> Value {
    let probe = |file: &str| json!({"exec": {"command": ["test", "-e", file]}, "periodSeconds": 1});
    json!({"readinessProbe": probe("/data/starts"), "livenessProbe": probe("/data/starts")})
}

/// Somebody who runs images that are not here yet.
pub(crate) struct Puller {
    pub(crate) registry: Registry,
    pub(crate) company: Company,
}

impl Puller {
    /// How many images were run.
    pub(crate) async fn run(self) -> Result<u64> {
        let mut count = 0;
        while !self.company.stop.is_cancelled() {
            count += 1;
            let image = self.registry.publish(count)?;
            self.life(&format!("pull-{count}"), &image).await.with_context(|| image.clone())?;
        }
        Ok(count)
    }

    /// The image runs, and has every byte.
    async fn life(&self, name: &str, image: &str) -> Result<()> {
        let reach = &self.company.reach;
        let idle = "trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done";
        let container = json!({"image": image, "command": ["/bin/sh", "-c", idle]});
        let sandbox = Sandbox::create(reach, name, spec(container)).await?;
        sandbox.ready(reach).await?;
        self.company.advance();
        let check = asb_tests::wait::until(crate::reach::PATIENCE, "the image to be checked", || async {
            let client = reach.client().await.ok()?;
            exec(&client, name, &["sha256sum", "-c", "/sums"]).await.ok()
        });
        check.await?;
        sandbox.delete(reach).await?;
        self.company.advance();
        Ok(())
    }
}
