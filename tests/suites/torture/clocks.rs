//! The clock of the machine is set, far ahead and far back, while sandboxes run. Only `asb up` sees it: the machine's own
//! clock is everybody's.

use std::fs;
use std::os::unix::fs::FileExt;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use asb_tests::wait;
use kube::Client;
use serde_json::json;
use tempfile::TempDir;

use crate::daemon::Daemon;
use crate::home::Home;
use crate::reach::Reach;
use crate::sandbox::{Sandbox, exec, spec};

const DAY: i64 = 24 * 60 * 60;

struct Clock {
    folder: TempDir,
}

impl Clock {
    fn make() -> Result<Self> {
        let folder = TempDir::new()?;
        let source = folder.path().join("clock.c");
        fs::write(&source, include_str!("clock.c"))?;
        let mut compiler = Command::new("cc");
        compiler
            .args(["-shared", "-fPIC", "-o"])
            .arg(folder.path().join("clock.so"))
            .arg(&source)
            .arg("-ldl");
        let built = compiler.output().context("run cc")?;
        ensure!(built.status.success(), "cc: {}", String::from_utf8_lossy(&built.stderr));
        let clock = Self { folder };
        clock.set(0)?;
        Ok(clock)
    }

    /// How far it is off.
    fn set(&self, seconds: i64) -> Result<()> {
        let path = self.folder.path().join("seconds");
        let file = fs::File::options().create(true).truncate(false).write(true).open(path)?;
        Ok(file.write_all_at(&seconds.to_ne_bytes(), 0)?)
    }

    fn daemon(&self, home: &Home) -> Result<Daemon> {
        let mut command = Daemon::command(home)?;
        command.env("LD_PRELOAD", self.folder.path().join("clock.so"));
        command.env("ASB_TEST_CLOCK", self.folder.path().join("seconds"));
        Daemon::run(home, command)
    }
}

/// Somebody who is there is probed, and somebody new is served.
async fn must_go_on(client: &Client, reach: &Reach, name: &str) -> Result<()> {
    let count = || async {
        let said = exec(client, "steady", &["cat", "/data/probes"]).await.ok()?;
        Some(said.lines().count())
    };
    let before = count().await.context("nobody was probed before")?;
    let further = || async { count().await.filter(|now| *now > before + 1) };
    wait::until(wait::DEADLINE, &format!("probes to go on {name}"), further).await?;
    let mut new = Sandbox::create(reach, name, spec(json!({}))).await?;
    new.ready(reach).await?;
    new.write(reach).await?;
    new.verify(reach, 0).await?;
    new.delete(reach).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_jumps_stops_nobody() -> Result<()> {
    let (home, clock) = (Home::new()?, Clock::make()?);
    let mut daemon = clock.daemon(&home)?;
    let client = daemon.ready().await?;
    let mut reach = Reach::to(client.clone());
    let command = ["sh", "-c", "echo probe >> /data/probes"];
    let probe = json!({"livenessProbe": {"exec": {"command": command}, "periodSeconds": 1}});
    let mut steady = Sandbox::create(&reach, "steady", spec(probe)).await?;
    steady.ready(&reach).await?;
    steady.write(&reach).await?;
    wait::until(wait::DEADLINE, "the first probe", || async {
        exec(&client, "steady", &["cat", "/data/probes"]).await.ok()
    })
    .await?;
    for (name, seconds) in [("ahead", DAY), ("back", -DAY), ("right", 0)] {
        clock.set(seconds)?;
        must_go_on(&reach.client().await?, &reach, name).await.with_context(|| daemon.log())?;
        daemon.kill().await?;
        daemon = clock.daemon(&home)?;
        reach = Reach::to(daemon.ready().await?);
        must_go_on(&reach.client().await?, &reach, &format!("{name}-again"))
            .await
            .with_context(|| daemon.log())?;
    }
    steady.verify(&reach, 0).await?;
    steady.delete(&reach).await?;
    home.finish(daemon).await
}
