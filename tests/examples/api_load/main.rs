//! Puts load on a Kubernetes API: `api_load at KUBECONFIG PART…`, or `api_load within FOLDER PART…` for our server inside
//! this very process. `cargo xtask bench apiserver` runs it against several servers in turn. Prints, separated by tabs:
//! what, per second, p50 and p99 in microseconds.
//!
//! It is to cost little beside what it measures: bodies are made beforehand, answers are read and not parsed, and every
//! client has a connection of its own.

mod connection;
mod fan_out;
mod objects;
mod sample;
mod work;

use std::env;
use std::path::Path;

use anyhow::{Context, Result, bail};
use asb_apiserver::server::{Config, Server};
use asb_apiserver::streaming::NoPods;
use tokio_util::sync::CancellationToken;

use connection::Door;

const USAGE: &str = "usage: api_load at KUBECONFIG|within FOLDER fill|round…";

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [way, place, parts @ ..] = &arguments[..] else { bail!(USAGE) };
    match way.as_str() {
        "at" => run(&Door::at(Path::new(place)).await?, parts).await,
        "within" => within(Path::new(place), parts).await,
        _ => bail!(USAGE),
    }
}

async fn run(door: &Door, parts: &[String]) -> Result<()> {
    for part in parts {
        match part.as_str() {
            "fill" => work::fill(door).await?,
            "round" => {
                work::round(door).await?;
                fan_out::measure(door).await?;
            }
            _ => bail!(USAGE),
        }
    }
    Ok(())
}

/// The server listens, too, as it does in `asb up`, but nobody calls there.
async fn within(folder: &Path, parts: &[String]) -> Result<()> {
    let data = tempfile::tempdir_in(folder).context("making a folder for the server")?;
    let config =
        Config { data_dir: data.path().to_owned(), listen: ([127, 0, 0, 1], 0).into(), admin_token: None };
    let server = Server::open(&config, NoPods).await.context("starting the server")?;
    let (door, stop) = (Door::Within(server.client()), CancellationToken::new());
    let serving = tokio::spawn(server.run(stop.clone()));
    let done = run(&door, parts).await;
    stop.cancel();
    serving.await.context("stopping the server")?;
    done
}
