//! One schedule: a cluster, the operator, a storm, and the calm after it. The same seed gives the same schedule.

use std::sync::Arc;
use std::time::Duration;

use asb_core::pool;
use asb_operator::{Candidacy, Dice, LEASE, Observer, Operator, Settings, Terms, Workers};
use jiff::SignedDuration;
use tokio::runtime::Builder;
use tokio::time::Instant;

use crate::clock::until;
use crate::fate::Storm;
use crate::planted::Planted;
use crate::processes::identity;
use crate::store::NAMESPACE;
use crate::world::Cluster;
use crate::{calm, line, nodes, panics, transport, trouble, users};

/// What came of a schedule.
pub(crate) struct Outcome {
    pub(crate) violation: Option<String>,
    pub(crate) transcript: String,
}

/// How often, and after how long, it is looked whether all is as it should be. Retries are up to five minutes apart.
const LOOKS: usize = 60;
const LOOK: Duration = Duration::from_secs(30);
/// For so long nothing may be written once all is as it should be.
const SILENCE: Duration = Duration::from_mins(15);

pub(crate) fn run(seed: u64, planted: Planted) -> Outcome {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime without I/O");
    let (mut outcome, panic) = panics::noticed(|| {
        runtime.block_on(async {
            let cluster = Arc::new(Cluster::new(seed));
            let verdict = play(&cluster, planted).await;
            let world = cluster.world();
            let violation = world.witness.violation.clone().or(verdict.err());
            Outcome { violation, transcript: world.transcript.text().to_owned() }
        })
    });
    outcome.violation = outcome.violation.or(panic);
    outcome
}

async fn play(cluster: &Arc<Cluster>, planted: Planted) -> Result<(), String> {
    cluster.act(users::settle);
    cluster.act(trouble::begin);
    let alive = Arc::clone(cluster);
    tokio::spawn(async move { alive.live().await });
    let replicas = if cluster.world().processes.are_several { 2 } else { 1 };
    for _ in 0..replicas {
        let operated = Arc::clone(cluster);
        tokio::spawn(async move { operate(&operated, planted).await });
    }
    let storm = cluster.world().chance.millis(60_000);
    until(Instant::now() + storm).await;
    cluster.act(|world| {
        (world.is_stormy, world.storm) = (false, Storm::OVER);
        nodes::heal(world);
        world.transcript.note(format_args!("the storm is over"));
    });
    settle(cluster).await?;
    let written = cluster.world().witness.writes;
    until(Instant::now() + SILENCE).await;
    let more = cluster.world().witness.writes - written;
    if more > 0 {
        return Err(format!("{more} writes though all was as it should be"));
    }
    calm::check(&cluster.world())?;
    line::form(cluster).await?;
    forget(cluster).await
}

/// Lets everything go, and waits until the operator that leads has forgotten all of it.
async fn forget(cluster: &Cluster) -> Result<(), String> {
    let mut kept = Vec::new();
    for _ in 0..LOOKS {
        cluster.act(users::leave);
        until(Instant::now() + LOOK).await;
        let world = cluster.world();
        // Whoever no longer leads forgets at the latest when it leads again.
        let leading = world.processes.observers().filter(|observer| observer.is_leading());
        kept = leading.flat_map(Observer::sizes).filter(|(_, size)| *size > 0).collect();
        if kept.is_empty() && world.store.all().next().is_none() {
            return Ok(());
        }
    }
    let left = cluster.world().store.all().map(|(id, _)| format!("{id:?}")).collect::<Vec<_>>();
    Err(format!("all were to go; left are {left:?}, and remembered {kept:?}"))
}

/// Waits until all is as it should be, and what was only put off is written too.
async fn settle(cluster: &Cluster) -> Result<(), String> {
    let mut verdict = Ok(());
    let mut written = 0;
    for _ in 0..LOOKS {
        until(Instant::now() + LOOK).await;
        let world = cluster.world();
        verdict = calm::check(&world);
        let before = std::mem::replace(&mut written, world.witness.writes);
        if world.witness.violation.is_some() || (verdict.is_ok() && before == written) {
            return verdict;
        }
    }
    verdict.map_err(|complaint| format!("does not converge: {complaint}"))
}

/// Runs one replica of the operator, and starts it again whenever it ends.
async fn operate(cluster: &Arc<Cluster>, planted: Planted) {
    loop {
        let (process, end, clock, seed, candidacy) = cluster.act(|world| {
            let (process, end) = world.processes.start();
            world.transcript.note(format_args!("operator {process} starts"));
            let candidacy = world.processes.are_several.then(|| candidacy(process));
            (process, end, world.clock, world.chance.seed(), candidacy)
        });
        let client = transport::client(cluster, process, planted);
        let operator = Operator::with(client, settings(), candidacy, Arc::new(clock), Dice::seeded(seed));
        cluster.world().processes.watch(process, operator.observer());
        tokio::select! {
            biased;
            () = end.death.notified() => {}
            () = operator.run(end.stop) => {}
        }
        let pause = cluster.act(|world| {
            world.processes.end(process);
            world.transcript.note(format_args!("operator {process} is gone"));
            world.chance.millis(3000)
        });
        until(Instant::now() + pause).await;
    }
}

fn candidacy(process: u32) -> Candidacy {
    Candidacy {
        namespace: NAMESPACE.to_owned(),
        name: LEASE.to_owned(),
        identity: identity(process),
        terms: Terms::default(),
    }
}

/// Few workers, so that they are busy, and less patience than usual, so that it runs out.
fn settings() -> Settings {
    Settings {
        workers: Workers { sandboxes: 3, claims: 3, pools: 1, templates: 1 },
        pools: pool::Settings { readiness_grace: SignedDuration::from_secs(20), ..pool::Settings::default() },
        // Nobody here serves them.
        shorthand: false,
        ..Settings::default()
    }
}
