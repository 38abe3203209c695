//! Claims sandboxes as clients do, and says how long each took: `claim-load serve KUBECONFIG` takes orders on standard
//! input and answers on standard output, one JSON document a line, and `claim-load kubelet KUBECONFIG MILLISECONDS` makes
//! Pods Ready so long after they were bound. Both end when their standard input does. `cargo xtask bench claims` runs both
//! beside an operator and does the arithmetic.
//!
//! It is to cost little beside what it measures: bodies are made beforehand, connections are open, and of an answer only
//! what is asked for is read.

mod claims;
mod connection;
mod crew;
mod feed;
mod objects;
mod orders;
mod pools;
mod quiet;
mod sandboxes;

use std::env;
use std::io::{BufRead, Write, stdin, stdout};
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use asb_fake_kubelet::{FakeKubelet, Script};
use kube::Client;
use tokio::sync::mpsc::{Receiver, channel};

use connection::Door;

const USAGE: &str = "usage: claim-load serve KUBECONFIG | claim-load kubelet KUBECONFIG MILLISECONDS";

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", kubeconfig] => serve(Path::new(kubeconfig)).await,
        ["kubelet", kubeconfig, delay] => kubelet(Path::new(kubeconfig), delay.parse().context(USAGE)?).await,
        _ => bail!(USAGE),
    }
}

async fn serve(kubeconfig: &Path) -> Result<()> {
    let door = Door::at(kubeconfig).await?;
    let mut lines = lines();
    while let Some(line) = lines.recv().await {
        writeln!(stdout(), "{}", orders::answer(&door, &line).await)?;
        stdout().flush()?;
    }
    Ok(())
}

/// A kubelet that reports as a real one: once that the Pod is being started, and once that it is Ready.
async fn kubelet(kubeconfig: &Path, delay: u64) -> Result<()> {
    let config = connection::config(kubeconfig).await?;
    let delay = Duration::from_millis(delay);
    let builder = FakeKubelet::builder(Client::try_from(config)?).node("race").scheduler(objects::SCHEDULER);
    let script = Script::run().start_after(delay).ready_after(delay);
    let kubelet = builder.script(script).concurrency(64).pod_ranges(["10.128.0.0/9"]).spawn().await?;
    writeln!(stdout(), "ready")?;
    stdout().flush()?;
    let mut lines = lines();
    while lines.recv().await.is_some() {}
    kubelet.shutdown().await;
    Ok(())
}

/// What comes on standard input, line by line, until it ends.
fn lines() -> Receiver<String> {
    let (sender, lines) = channel(1);
    thread::spawn(move || {
        stdin().lock().lines().map_while(Result::ok).try_for_each(|line| sender.blocking_send(line))
    });
    lines
}
