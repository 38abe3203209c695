//! One kill at a time, looked at closely: what runs goes on, whoever starts next has it all, and a sandbox that lost the
//! process that holds it has failed and nothing more.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use asb_tests::wait;
use futures::future::try_join_all;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ContainerStatus;
use kube::api::{ListParams, LogParams};
use kube::{Client, ResourceExt};
use serde_json::json;

use crate::census::folders;
use crate::daemon::Daemon;
use crate::home::Home;
use crate::reach::Reach;
use crate::sandbox::{self, Sandbox, exec, spec};
use crate::shims;

/// Within which everybody is served again.
const SOON: Duration = Duration::from_secs(2);
/// Says numbers one after the other, and keeps them too.
const COUNTING: &str = "echo start >> /data/starts; trap 'exit 0' TERM; i=0; \
    while :; do i=$((i+1)); echo $i; echo $i >> /data/ticks; sleep 0.1 & wait $!; done";

/// Numbers, as far as each that counts has come.
fn ticks(home: &Home) -> Vec<usize> {
    let volumes = folders(&home.path().join("node/volumes")).into_iter();
    let files = volumes.filter_map(|volume| fs::read_to_string(volume.join("data/ticks")).ok());
    files.map(|text| text.lines().count()).collect()
}

/// Waits until all of them have counted further.
async fn count_on(home: &Home) -> Result<()> {
    let before = ticks(home);
    ensure!(!before.is_empty(), "nobody counts");
    let further = || {
        let now = ticks(home);
        let all = now.len() == before.len() && now.iter().zip(&before).all(|(now, before)| now > before);
        std::future::ready(all.then_some(()))
    };
    Ok(wait::until(wait::DEADLINE, "all to count on", further).await?)
}

/// What is said of the container of each Pod.
async fn containers(client: &Client) -> Result<BTreeMap<String, ContainerStatus>> {
    let pods = sandbox::pods(client.clone()).list(&ListParams::default()).await?;
    let status = |pod: &k8s_openapi::api::core::v1::Pod| {
        pod.status.clone().and_then(|status| status.container_statuses?.pop())
    };
    Ok(pods.iter().filter_map(|pod| Some((pod.name_any(), status(pod)?))).collect())
}

async fn make(reach: &Reach, names: &[&str], container: serde_json::Value) -> Result<Vec<Sandbox>> {
    let made = names.iter().map(|name| async {
        let sandbox = Sandbox::create(reach, name, spec(container.clone())).await?;
        sandbox.ready(reach).await?;
        anyhow::Ok(sandbox)
    });
    try_join_all(made).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sandboxes_outlive_the_daemon_and_the_next_one_has_them_within_two_seconds() -> Result<()> {
    let home = Home::new()?;
    let (daemon, client) = Daemon::start(&home).await?;
    let names = ["one", "two", "three", "four", "five"];
    let counting = json!({"command": ["sh", "-c", COUNTING]});
    let mut sandboxes = make(&Reach::to(client.clone()), &names, counting).await?;
    for sandbox in &mut sandboxes {
        sandbox.write(&Reach::to(client.clone())).await?;
    }
    let before = containers(&client).await?;
    daemon.kill().await?;
    count_on(&home).await?;

    let begun = Instant::now();
    let (daemon, client) = Daemon::start(&home).await?;
    try_join_all(names.iter().map(|name| exec(&client, name, &["true"]))).await?;
    let took = begun.elapsed();
    assert!(took < SOON, "it took {took:?}");
    assert_eq!(containers(&client).await?, before);
    count_on(&home).await?;
    for name in names {
        let said = sandbox::pods(client.clone()).logs(name, &LogParams::default()).await?;
        let numbers: Vec<usize> = said.lines().map(str::parse).collect::<Result<_, _>>()?;
        assert!(numbers.iter().copied().eq(1..=numbers.len()), "{name} was not heard all the time: {said}");
    }
    let reach = Reach::to(client);
    for mut sandbox in sandboxes {
        sandbox.verify(&reach, 0).await?;
        sandbox.delete(&reach).await?;
    }
    home.finish(daemon).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probes_and_deadlines_go_on_after_a_kill() -> Result<()> {
    let home = Home::new()?;
    let (daemon, client) = Daemon::start(&home).await?;
    let reach = Reach::to(client);
    let command = ["sh", "-c", "echo probe >> /data/probes"];
    let probe = json!({"livenessProbe": {"exec": {"command": command}, "periodSeconds": 1}});
    let mut probed = make(&reach, &["probed"], probe).await?;
    let mut expiring = spec(json!({}));
    let deadline = Timestamp::now() + SignedDuration::from_secs(8);
    expiring["shutdownTime"] = json!(deadline);
    expiring["shutdownPolicy"] = json!("Delete");
    let expiring = Sandbox::create(&reach, "expiring", expiring).await?;
    expiring.ready(&reach).await?;
    daemon.kill().await?;

    let (daemon, client) = Daemon::start(&home).await?;
    let count = || async {
        let said = exec(&client, "probed", &["cat", "/data/probes"]).await.ok()?;
        Some(said.lines().count())
    };
    let before = count().await.context("nobody was probed before")?;
    let further = || async { count().await.filter(|now| *now > before + 1) };
    wait::until(wait::DEADLINE, "probes to go on", further).await?;
    let gone = || async {
        let found = sandbox::api(client.clone()).get_opt("expiring").await.ok()?;
        found.is_none().then(Timestamp::now)
    };
    let gone = wait::until(wait::DEADLINE, "a sandbox to go when its time is up", gone).await?;
    assert!(gone >= deadline, "it went {gone}, before its time {deadline}");
    let reach = Reach::to(client.clone());
    for mut sandbox in probed.drain(..) {
        sandbox.write(&reach).await?;
        sandbox.verify(&reach, 0).await?;
        sandbox.delete(&reach).await?;
    }
    home.finish(daemon).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sandbox_that_lost_its_shim_has_failed_and_is_started_again() -> Result<()> {
    let home = Home::new()?;
    let (daemon, client) = Daemon::start(&home).await?;
    let reach = Reach::to(client.clone());
    let mut sandboxes = make(&reach, &["hit", "spared"], json!({})).await?;
    for sandbox in &mut sandboxes {
        sandbox.write(&reach).await?;
    }
    let before = containers(&client).await?;
    // Once seen by the daemon, and once while there is none.
    shims::kill_of(&home, &client, "hit").await?;
    must_be_back(&reach, &mut sandboxes[0], 1).await?;
    let uid = sandbox::pods(client).get("hit").await?.uid().context("a uid")?;
    daemon.kill().await?;
    assert_eq!(shims::kill(&home, &uid).await?, 1);
    let (daemon, client) = Daemon::start(&home).await?;
    let reach = Reach::to(client.clone());
    must_be_back(&reach, &mut sandboxes[0], 2).await?;
    assert_eq!(containers(&client).await?["spared"], before["spared"]);
    for mut sandbox in sandboxes {
        sandbox.verify(&reach, 2).await?;
        sandbox.delete(&reach).await?;
    }
    home.finish(daemon).await
}

/// Its container was started again, so many times by now, and it is said how the last one ended.
async fn must_be_back(reach: &Reach, hit: &mut Sandbox, deaths: usize) -> Result<()> {
    let client = reach.client().await?;
    let again = || async {
        let status = containers(&client).await.ok()?.remove(&hit.name)?;
        (usize::try_from(status.restart_count) == Ok(deaths) && status.ready).then_some(status)
    };
    let status = wait::until(Duration::from_mins(1), "it to be started again", again).await?;
    let ended = status.last_state.and_then(|state| state.terminated).context("it is said how it ended")?;
    assert_ne!(ended.exit_code, 0, "{ended:?}");
    hit.write(reach).await?;
    hit.verify(reach, deaths).await
}
