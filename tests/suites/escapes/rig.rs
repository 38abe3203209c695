//! A piece of the world outside: a network namespace behind a link of its own, with somebody who listens there. The machine
//! gets a link and two routes, which go with the namespace.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

pub(crate) struct World {
    process: Child,
    _output: BufReader<ChildStdout>,
    /// An address that Pods may reach.
    pub(crate) open: String,
    /// One of a range that is closed to them.
    pub(crate) closed: String,
    link: String,
}

/// Says that it is there, waits for its link, listens and says so, and lives until its input ends.
const LISTEN: &str = "
import os, socket, sys, threading
print('here', flush=True)
sys.stdin.readline()
server = socket.create_server(('0.0.0.0', 80))
print('listening', flush=True)
def serve():
    while True: server.accept()[0].close()
threading.Thread(target=serve, daemon=True).start()
sys.stdin.read()";

impl World {
    pub(crate) async fn make() -> Result<Self> {
        let number = 2 + std::process::id() % 250;
        let (near, open) = (format!("198.18.{number}.1"), format!("198.18.{number}.2"));
        let (closed, link) = (format!("169.254.{number}.77"), format!("esc{}", std::process::id()));
        let mut command = Command::new("unshare");
        command.args(["--net", "python3", "-c", LISTEN]).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().context("make a network namespace")?;
        let mut output = BufReader::new(process.stdout.take().context("an output")?);
        expect(&mut output, "here").await?;
        let pid = process.id().context("it runs")?.to_string();
        ip(&["link", "add", &link, "type", "veth", "peer", "name", "eth0", "netns", &pid]).await?;
        ip(&["addr", "add", &format!("{near}/24"), "dev", &link]).await?;
        ip(&["link", "set", &link, "up"]).await?;
        // A setting of this link alone.
        std::fs::write(format!("/proc/sys/net/ipv4/conf/{link}/forwarding"), "1")?;
        for words in ["link set lo up", "link set eth0 up"] {
            inside(&pid, words).await?;
        }
        inside(&pid, &format!("addr add {open}/24 dev eth0")).await?;
        inside(&pid, &format!("addr add {closed}/32 dev eth0")).await?;
        inside(&pid, &format!("route add default via {near}")).await?;
        ip(&["route", "add", &closed, "via", &open]).await?;
        let input = process.stdin.as_mut().context("an input")?;
        tokio::io::AsyncWriteExt::write_all(input, b"go\n").await?;
        expect(&mut output, "listening").await?;
        Ok(Self { process, _output: output, open, closed, link })
    }

    /// The link goes with it, and the routes with the link.
    pub(crate) async fn end(mut self) -> Result<()> {
        ip(&["link", "delete", &self.link]).await?;
        self.process.kill().await.context("end the namespace")
    }
}

async fn expect(output: &mut BufReader<ChildStdout>, word: &str) -> Result<()> {
    let mut line = String::new();
    output.read_line(&mut line).await?;
    ensure!(line.trim() == word, "{line:?} instead of {word:?}");
    Ok(())
}

async fn ip(words: &[&str]) -> Result<()> {
    let output = Command::new("ip").args(words).output().await.context("run ip")?;
    ensure!(output.status.success(), "ip {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr));
    Ok(())
}

async fn inside(pid: &str, words: &str) -> Result<()> {
    let mut command = Command::new("nsenter");
    command.args(["--target", pid, "--net", "ip"]).args(words.split(' '));
    let output = command.output().await.context("run nsenter")?;
    ensure!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
