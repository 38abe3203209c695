//! `kill -9` at random moments: of `asb up` while it works and while it starts, and of the processes that hold Pods. Whatever
//! was acknowledged is there in the end, and nothing else is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use asb_operator::Dice;
use asb_tests::wait;
use kube::api::ListParams;
use kube::{Client, ResourceExt};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::account;
use crate::chance::{number, seed};
use crate::daemon::Daemon;
use crate::home::Home;
use crate::reach::{Door, PATIENCE};
use crate::registry::Registry;
use crate::sandbox::{self, Sandbox};
use crate::shims;
use crate::users::{Company, Puller, User};

const KILLS: u64 = 200;
const USERS: u64 = 4;
/// How long it may work before it is killed, and how far into its start it may come.
const WORK: u64 = 300;
const START: u64 = 500;
/// After so many kills everybody must have come further.
const ROUND: u64 = 10;

/// How often each sandbox lost the process that holds it.
type Deaths = BTreeMap<String, usize>;

/// How much was acknowledged to one of them.
type Count = Arc<AtomicUsize>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_outlives_two_hundred_kills() -> Result<()> {
    let seed = seed()?;
    Box::pin(play(seed)).await.with_context(|| format!("ASB_TEST_SEED={seed} begins with the same chances"))
}

async fn play(seed: u64) -> Result<()> {
    let home = Home::new()?;
    let (door, reach) = Door::new();
    let company = Company { reach, progress: Arc::default(), stop: CancellationToken::new() };
    let (mut users, mut counts) = (JoinSet::new(), Vec::<Count>::new());
    for number in 1..=USERS {
        let (dice, company) = (Dice::seeded(seed.wrapping_add(number)), company.member());
        counts.push(Arc::clone(&company.progress));
        users.spawn(User { name: format!("user{number}"), dice, company }.run());
    }
    let puller = Puller { registry: Registry::open().await?, company: company.member() };
    counts.push(Arc::clone(&puller.company.progress));
    let puller = tokio::spawn(puller.run());
    let deaths = {
        let dice = Dice::seeded(seed);
        let storm = storm(&home, &dice, &door, &counts);
        tokio::select! {
            deaths = storm => deaths?,
            // Nobody is done before the storm is over, unless something is wrong.
            Some(early) = users.join_next() => {
                early??;
                anyhow::bail!("somebody was done too early");
            }
        }
    };
    let (daemon, client) = Daemon::start(&home).await?;
    door.open(client);
    company.stop.cancel();
    let mut kept = Vec::new();
    while let Some(done) = users.join_next().await {
        kept.extend(done?.with_context(|| daemon.log())?);
    }
    let images = puller.await?.with_context(|| daemon.log())?;
    ensure!(images >= kills()? / 50, "only {images} images were run");
    let count = kept.len();
    judge(&home, &company, kept, &deaths).await.with_context(|| daemon.log())?;
    home.finish(daemon).await?;
    account::tell(&format!(
        "{} kills of asb up and {} of processes that hold Pods; {} times somebody was told that something is done, and all of \
         it was: {count} sandboxes and {images} images at last",
        kills()?,
        deaths.values().sum::<usize>(),
        told(&counts).iter().sum::<usize>(),
    ));
    Ok(())
}

async fn storm(home: &Home, dice: &Dice, door: &Door, counts: &[Count]) -> Result<Deaths> {
    let mut deaths = Deaths::new();
    let mut before = told(counts);
    for number in 1..=kills()? {
        let mut daemon = Daemon::spawn(home)?;
        if number > 1 && dice.roll().is_multiple_of(3) {
            daemon.work(milliseconds(dice.roll() % START)).await?;
            daemon.kill().await?;
            continue;
        }
        let client = daemon.ready().await?;
        door.open(client.clone());
        if number.is_multiple_of(ROUND) {
            before = progress(counts, &before).await.with_context(|| daemon.log())?;
        }
        if dice.roll().is_multiple_of(8) {
            kill_a_shim(home, &client, dice, &mut deaths).await?;
        }
        daemon.work(milliseconds(dice.roll() % WORK)).await?;
        door.close();
        daemon.kill().await?;
    }
    Ok(deaths)
}

fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn kills() -> Result<u64> {
    Ok(number("ASB_TEST_KILLS")?.unwrap_or(KILLS))
}

fn told(counts: &[Count]) -> Vec<usize> {
    counts.iter().map(|count| count.load(Ordering::SeqCst)).collect()
}

/// Waits until something was acknowledged to each of them that was not before: nobody's patience ends while others are served.
async fn progress(counts: &[Count], before: &[usize]) -> Result<Vec<usize>> {
    let further = || {
        let now = told(counts);
        let all = now.iter().zip(before).all(|(now, before)| now > before);
        std::future::ready(all.then_some(now))
    };
    Ok(wait::until(PATIENCE, "everybody to come further", further).await?)
}

/// Each sandbox at most once: one that dies again and again is made to wait.
async fn kill_a_shim(home: &Home, client: &Client, dice: &Dice, deaths: &mut Deaths) -> Result<()> {
    let Ok(pods) = sandbox::pods(client.clone()).list(&ListParams::default()).await else { return Ok(()) };
    let mut alive = pods.items.iter().filter(|pod| !deaths.contains_key(&pod.name_any())).collect::<Vec<_>>();
    if alive.is_empty() {
        return Ok(());
    }
    let chosen = alive.swap_remove(usize::try_from(dice.roll() % alive.len() as u64)?);
    let uid = chosen.uid().context("a uid")?;
    let killed = shims::kill(home, &uid).await?;
    if killed > 0 {
        *deaths.entry(chosen.name_any()).or_default() += killed;
    }
    Ok(())
}

/// Everything that was kept is there as it was left, and nothing else is; then it goes.
async fn judge(home: &Home, company: &Company, mut kept: Vec<Sandbox>, deaths: &Deaths) -> Result<()> {
    let reach = &company.reach;
    for sandbox in &mut kept {
        let deaths = deaths.get(&sandbox.name).copied().unwrap_or_default();
        sandbox.verify(reach, deaths).await?;
    }
    let there = sandbox::api(reach.client().await?).list(&ListParams::default()).await?;
    let there: BTreeSet<String> = there.iter().map(ResourceExt::name_any).collect();
    let wanted: BTreeSet<String> = kept.iter().map(|sandbox| sandbox.name.clone()).collect();
    ensure!(there == wanted, "there are {there:?}, and ought to be {wanted:?}");
    home.must_be_sound().await?;
    for sandbox in kept {
        sandbox.delete(reach).await?;
    }
    Ok(())
}
