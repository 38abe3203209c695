//! Claims that come one after another to a pool, once all is calm: first come, first served, and nobody waits for ever.

use std::sync::Arc;
use std::time::Duration;

use asb_core::write::Kind;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::clock::until;
use crate::object::{ready, uid};
use crate::users;
use crate::world::{Cluster, World};

const CLAIMS: [&str; 6] = ["una", "dua", "tria", "quat", "quin", "sexa"];
const POOL: &str = "warm";
/// They come so far apart that there is no doubt who came first.
const APART: Duration = Duration::from_millis(700);
/// Nobody waits longer for a Sandbox that starts within seconds: half a minute for one under way, and then for a fresh one.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) async fn form(cluster: &Arc<Cluster>) -> Result<(), String> {
    if !has_members(&cluster.world()) {
        return Ok(());
    }
    for claim in CLAIMS {
        cluster.act(|world| {
            users::create(world, Kind::SandboxClaim, claim, json!({"warmPoolRef": {"name": POOL}}));
        });
        until(Instant::now() + APART).await;
    }
    until(Instant::now() + PATIENCE).await;
    check(&cluster.world())
}

fn has_members(world: &World) -> bool {
    let pool = world.store.get(Kind::SandboxWarmPool, POOL);
    let template = pool.and_then(|pool| pool["spec"]["sandboxTemplateRef"]["name"].as_str());
    template.is_some_and(|template| world.store.get(Kind::SandboxTemplate, template).is_some())
}

fn check(world: &World) -> Result<(), String> {
    let mut last_warm: Option<(&str, Instant)> = None;
    for claim in CLAIMS.into_iter().rev() {
        let object = world.store.get(Kind::SandboxClaim, claim).ok_or("a claim of the line is gone")?;
        let Some(bound) = world.witness.bound.get(uid(object)) else {
            return Err(format!("claim {claim} waits in vain: {:?}", ready(object)));
        };
        is_served(object)?;
        if let Some((later, at)) = last_warm.filter(|(_, at)| *at < bound.at) {
            let wait = bound.at.duration_since(at);
            return Err(format!(
                "claim {later} got a warm Sandbox {wait:?} before {claim}, which came first"
            ));
        }
        if bound.is_warm && last_warm.is_none_or(|(_, at)| bound.at < at) {
            last_warm = Some((claim, bound.at));
        }
    }
    Ok(())
}

fn is_served(claim: &Value) -> Result<(), String> {
    let (is_ready, reason) = ready(claim);
    if is_ready { Ok(()) } else { Err(format!("a claim of the line says {reason} after {PATIENCE:?}")) }
}
