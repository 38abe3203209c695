//! Sends requests into sandboxes as clients do, and says how long they took: `proxy-load ADDRESS` answers at that address as a
//! sandbox would, says on its first line where, and then takes orders on standard input and answers on standard output, one
//! JSON document a line. It ends when its standard input does. `cargo xtask bench dataplane` runs it beside proxies.
//!
//! It is to cost little beside what it measures: requests are made beforehand and written as they are, and of an answer only the
//! head is read closely.

mod backend;
mod calls;
mod line;
mod orders;
mod sample;
mod sandboxes;

use std::env;
use std::io::{BufRead, Write, stdin, stdout};
use std::net::IpAddr;
use std::thread;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Receiver, channel};

const USAGE: &str = "usage: proxy-load ADDRESS";

#[tokio::main]
async fn main() -> Result<()> {
    let address: IpAddr = env::args().nth(1).context(USAGE)?.parse().context(USAGE)?;
    let listener = TcpListener::bind((address, 0)).await.context("listening")?;
    say(&json!({ "backend": listener.local_addr()? }))?;
    tokio::spawn(backend::serve(listener));
    let mut lines = lines();
    while let Some(line) = lines.recv().await {
        say(&orders::answer(&line).await)?;
    }
    Ok(())
}

fn say(answer: &Value) -> Result<()> {
    writeln!(stdout(), "{answer}")?;
    Ok(stdout().flush()?)
}

/// Read by a thread of its own: standard input cannot be waited for otherwise.
fn lines() -> Receiver<String> {
    let (sender, lines) = channel(1);
    thread::spawn(move || {
        stdin().lock().lines().map_while(Result::ok).try_for_each(|line| sender.blocking_send(line))
    });
    lines
}
