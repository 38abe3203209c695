//! Calls over connections of their own, each made as soon as the one before was answered.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use tokio::task::JoinSet;

use crate::line::{Line, Script, trusting};
use crate::sample::{Sample, Tally};

/// As much as is sent on a connection that was upgraded.
const WORD: usize = 32;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Calls {
    address: String,
    /// Over TLS, to whoever shows this.
    certificate: Option<PathBuf>,
    /// The line of the request, and a line for each header.
    head: Vec<String>,
    /// The body, if there is one: a text, or so many zeros.
    #[serde(default)]
    text: String,
    #[serde(default)]
    zeros: u64,
    /// What has to be in the first answer.
    #[serde(default)]
    expected: String,
    /// The connection is upgraded, and what counts is said on it then.
    #[serde(default)]
    upgrade: bool,
    connections: usize,
    /// Milliseconds before it counts, and for how long it does.
    warm_up: u64,
    measured: u64,
}

/// When calls count.
#[derive(Clone, Copy)]
struct Span {
    begin: Instant,
    end: Instant,
}

pub(crate) async fn make(calls: Calls) -> Result<Sample> {
    let script = Arc::new(calls.script());
    let tls = calls.certificate.as_deref().map(trusting).transpose()?;
    let mut lines = Vec::new();
    for _ in 0..calls.connections {
        let mut line = Line::open(&calls.address, tls.as_ref()).await?;
        calls.prove(&mut line, &script).await?;
        lines.push(line);
    }
    let begin = Instant::now() + Duration::from_millis(calls.warm_up);
    let span = Span { begin, end: begin + Duration::from_millis(calls.measured) };
    let mut tasks = JoinSet::new();
    for line in lines {
        let script = (!calls.upgrade).then(|| Arc::clone(&script));
        tasks.spawn(talk(line, script, span));
    }
    let mut all = Tally::default();
    while let Some(ended) = tasks.join_next().await {
        all.add(ended.context("a connection ended badly")??);
    }
    Ok(all.sample(begin))
}

impl Calls {
    fn script(&self) -> Script {
        let size = self.text.len() as u64 + self.zeros;
        let length = if size > 0 { format!("\r\nContent-Length: {size}") } else { String::new() };
        let opening = format!("{}{length}\r\n\r\n{}", self.head.join("\r\n"), self.text);
        Script { opening: opening.into_bytes(), zeros: self.zeros }
    }

    /// The first call shows that the answer is the right one.
    async fn prove(&self, line: &mut Line, script: &Script) -> Result<()> {
        let answer = line.read(script).await?;
        let said = String::from_utf8_lossy(&answer.beginning);
        let is_good = if self.upgrade { answer.status == 101 } else { (200..300).contains(&answer.status) };
        let start: String = said.chars().take(300).collect();
        ensure!(is_good && said.contains(&self.expected), "{}: {}: {start}", self.head[0], answer.status);
        Ok(())
    }
}

/// Until the end; with no script, on a connection that was upgraded.
async fn talk(mut line: Line, script: Option<Arc<Script>>, span: Span) -> Result<Tally> {
    let mut tally = Tally { requests: 1, ..Tally::default() };
    loop {
        let start = Instant::now();
        if start >= span.end {
            return Ok(tally);
        }
        let bytes = match &script {
            Some(script) => {
                let (head, _) = line.exchange(script).await?;
                ensure!((200..300).contains(&head.status), "an answer with the status {}", head.status);
                head.length + script.zeros
            }
            None => line.echo(WORD).await.map(|()| WORD as u64)?,
        };
        tally.requests += 1;
        if start >= span.begin {
            let now = Instant::now();
            tally.times.push(now - start);
            tally.bytes += bytes;
            tally.last = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use serde_json::{Value, json};
    use tokio::net::TcpListener;

    use super::*;
    use crate::backend;

    async fn backend() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(backend::serve(listener));
        address
    }

    async fn made(head: &[&str], more: Value) -> Result<Value> {
        let mut calls = json!({
            "address": backend().await, "head": head, "connections": 2, "warmUp": 1, "measured": 20,
        });
        calls.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let sample = make(serde_json::from_value(calls).expect("an order")).await?;
        Ok(serde_json::to_value(sample).expect("a value"))
    }

    #[tokio::test]
    async fn the_backend_gives_takes_and_echoes() {
        let upgrade = ["GET / HTTP/1.1", "Host: x", "Connection: upgrade", "Upgrade: echo"];
        let cases = [
            made(&["GET /bytes/70000 HTTP/1.1", "Host: x"], json!({})).await,
            made(&["PUT / HTTP/1.1", "Host: x"], json!({"zeros": 700_000})).await,
            made(&["POST / HTTP/1.1", "Host: x"], json!({"text": "some"})).await,
            made(&upgrade, json!({"upgrade": true})).await,
        ];
        for case in cases {
            let sample = case.expect("it works");
            assert!(sample["perSecond"].as_f64().is_some_and(|rate| rate > 0.0), "{sample}");
        }
    }

    #[tokio::test]
    async fn an_answer_that_is_not_the_expected_one_is_no_measurement() {
        assert!(made(&["GET /other HTTP/1.1", "Host: x"], json!({})).await.is_err());
        assert!(made(&["GET /bytes/9 HTTP/1.1", "Host: x"], json!({"expected": "word"})).await.is_err());
    }
}
