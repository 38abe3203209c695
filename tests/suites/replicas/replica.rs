//! `asb operator` as a program outside the cluster, that API servers reach on the loopback.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use asb_tests::{program, wait};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

/// A running operator, which is killed with this value.
pub(crate) struct Replica {
    process: Child,
    pub(crate) webhook: u16,
    health: u16,
    metrics: u16,
}

impl Replica {
    /// One whose Secret and Lease are in this namespace. API servers are sent to `external`, or to this one.
    pub(crate) async fn start(namespace: &str, external: Option<u16>, more: &[&str]) -> Result<Self> {
        let [webhook, health, metrics] = free_ports().await?;
        let kubeconfig = std::env::var_os("ASB_TEST_KUBECONFIG").context("the suite has a cluster")?;
        let process = Command::new(program()?)
            .args(["operator", "--extensions", "--log=error", "--log-encoder=text"])
            .arg(format!("--webhook-namespace={namespace}"))
            .arg(format!("--leader-election-namespace={namespace}"))
            .arg(format!("--webhook-port={webhook}"))
            .arg(format!("--webhook-external-address=127.0.0.1:{}", external.unwrap_or(webhook)))
            .arg(format!("--health-probe-bind-address=127.0.0.1:{health}"))
            .arg(format!("--metrics-bind-address=127.0.0.1:{metrics}"))
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(more)
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("start asb operator; `cargo build -p asb` makes it")?;
        Ok(Self { process, webhook, health, metrics })
    }

    pub(crate) async fn ready(&self) -> Result<()> {
        let ready = || async { get(self.health, "/readyz").await.ok().filter(|(status, _)| *status == 200) };
        wait::until(wait::DEADLINE, "the operator to be ready", ready).await?;
        Ok(())
    }

    /// The status of a path beside the probes.
    pub(crate) async fn probe(&self, path: &str) -> Result<u16> {
        Ok(get(self.health, path).await?.0)
    }

    /// The lines of a metric.
    pub(crate) async fn metric(&self, name: &str) -> Result<Vec<String>> {
        let (status, text) = get(self.metrics, "/metrics").await?;
        ensure!(status == 200, "{text}");
        Ok(text.lines().filter(|line| line.starts_with(name)).map(str::to_owned).collect())
    }

    pub(crate) async fn leads(&self) -> bool {
        let status = self.metric("leader_election_master_status").await.unwrap_or_default();
        status.iter().any(|line| line.ends_with(" 1"))
    }

    /// Asks it to end, and fails where it does not do so well.
    pub(crate) async fn stop(mut self) -> Result<()> {
        let id = self.process.id().context("it runs")?.to_string();
        Command::new("kill").arg(&id).status().await?;
        let status = self.process.wait().await?;
        ensure!(status.success(), "it ended badly: {status}");
        Ok(())
    }
}

async fn free_ports() -> Result<[u16; 3]> {
    let mut listeners = Vec::new();
    for _ in 0..3 {
        listeners.push(TcpListener::bind("127.0.0.1:0").await?);
    }
    let ports: Vec<_> =
        listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect::<Result<_>>()?;
    ports.try_into().ok().context("there are three")
}

/// Asks as a kubelet does.
async fn get(port: u16, path: &str) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
    Ok((status.context("an answer has a status")?, body))
}
