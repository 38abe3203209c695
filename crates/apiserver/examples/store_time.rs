//! Measures the store: `cargo run --release -p asb-apiserver --example store_time -- FOLDER`, or `cargo xtask bench store`.
//! Prints what and how long, separated by a tab.

use std::env;
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use asb_apiserver::store::{Key, Precondition, Scope, Store};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const ALONE: usize = 500;
const CLIENTS: usize = 32;
const EACH: usize = 250;

#[tokio::main]
async fn main() {
    let folder = PathBuf::from(env::args_os().nth(1).expect("usage: store_time FOLDER"));
    let path = folder.join(format!("bench-store-{}", std::process::id()));
    let store = Store::open(&path).expect("a store");
    alone(&store).await;
    together(&store).await;
    listing(&store);
    std::fs::remove_file(&path).expect("the file was made");
}

/// One writer that waits for each write.
async fn alone(store: &Store) {
    let mut times = Vec::with_capacity(ALONE);
    for number in 0..ALONE {
        let start = Instant::now();
        store.put(key("alone", number), Precondition::Absent, pod()).await.expect("a write");
        times.push(start.elapsed());
    }
    times.sort_unstable();
    say("durable create of a 1.5 KiB Pod, one writer, p50", &milliseconds(times[ALONE / 2]));
    say("durable create of a 1.5 KiB Pod, one writer, p99", &milliseconds(times[ALONE * 99 / 100]));
}

/// Many writers, each waiting for its own.
async fn together(store: &Store) {
    let start = Instant::now();
    let mut clients: JoinSet<()> = (0..CLIENTS).map(|client| writes(store.clone(), client)).collect();
    while let Some(ended) = clients.join_next().await {
        ended.expect("a client");
    }
    let rate = f64::from(u32::try_from(CLIENTS * EACH).expect("small")) / start.elapsed().as_secs_f64();
    say(&format!("durable creates per second, {CLIENTS} writers"), &format!("{rate:.0}"));
}

async fn writes(store: Store, client: usize) {
    for number in 0..EACH {
        store.put(key(&format!("c{client}"), number), Precondition::Absent, pod()).await.expect("a write");
    }
}

fn listing(store: &Store) {
    let start = Instant::now();
    let count = store.list(&Scope::resource("pods")).entries.len();
    say(&format!("list of {count} Pods, as shared entries"), &milliseconds(start.elapsed()));
}

fn key(namespace: &str, number: usize) -> Key {
    Key::new("pods", Some(namespace), &format!("pod-{number}"))
}

fn pod() -> Value {
    let env: Vec<_> = (0..20)
        .map(|n| json!({"name": format!("VARIABLE_{n}"), "value": "a value of some length"}))
        .collect();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "demo"}, "spec": {"containers": [{"name": "main", "env": env}]}})
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1000.0)
}

fn say(what: &str, value: &str) {
    writeln!(stdout(), "{what}\t{value}").expect("somebody reads");
}
