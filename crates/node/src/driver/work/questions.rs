//! The ways to ask a container how it is: a program in it, or a port of the Pod.

use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, ExecAction, GRPCAction, HTTPGetAction, Probe, TCPSocketAction};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::net::unix::pipe;

use super::{Work, attempt, full, grpc, http};
use crate::shim::client::Client;
use crate::shim::protocol::Request;

/// How much of what a program says is kept.
const MOST_OUTPUT: u64 = 10 * 1024;

/// Asks once; the error is what a person is told.
pub(super) async fn probe(
    work: &Work,
    container: &Container,
    number: u32,
    probe: &Probe,
) -> Result<(), String> {
    if let Some(action) = &probe.exec {
        return exec(work, &container.name, number, action).await;
    }
    if let Some(action) = &probe.http_get {
        return get(work, container, action).await;
    }
    if let Some(action) = &probe.tcp_socket {
        return connect(work, container, action).await;
    }
    match &probe.grpc {
        Some(action) => health(work, action).await,
        None => Err("the probe asks for nothing".to_owned()),
    }
}

/// Runs a program in a container, under all that the container is under. Fails with what it said.
pub(super) async fn exec(work: &Work, name: &str, number: u32, action: &ExecAction) -> Result<(), String> {
    let key = attempt(name, number);
    let plan = work.directory().container(&key).map_err(|error| full(&error))?;
    let mut process = plan.ok_or_else(|| format!("container {name} does not run"))?.process;
    process.args = action.command.clone().unwrap_or_default();
    process.tty = false;
    let (sender, mut receiver) = output().map_err(|error| full(&error))?;
    let null = std::fs::File::open("/dev/null").map_err(|error| full(&error))?;
    let mut shim = Client::connect(&work.directory()).await.map_err(|error| full(&error))?;
    let stdio = [null.as_fd(), sender.as_fd(), sender.as_fd()];
    let executed = shim.exec(&key, process, &stdio).await.map_err(|error| full(&error))?;
    drop(sender);
    // A probe that is given up takes its program with it.
    let guard = Guard { work: work.clone(), exec: Some(executed.exec) };
    let mut said = Vec::new();
    let ended = {
        let reading = async { (&mut receiver).take(MOST_OUTPUT).read_to_end(&mut said).await };
        let (status, _) = tokio::join!(shim.wait_exec(executed.exec), reading);
        status.map_err(|error| full(&error))?
    };
    guard.done();
    match ended.code() {
        0 => Ok(()),
        code => {
            let said = String::from_utf8_lossy(&said).trim().to_owned();
            Err(if said.is_empty() { format!("command ended with exit code {code}") } else { said })
        }
    }
}

fn output() -> std::io::Result<(OwnedFd, pipe::Receiver)> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    Ok((writer, pipe::Receiver::from_owned_fd(reader)?))
}

struct Guard {
    work: Work,
    exec: Option<u64>,
}

impl Guard {
    fn done(mut self) {
        self.exec = None;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(exec) = self.exec.take() else { return };
        let work = self.work.clone();
        tokio::spawn(async move {
            let request = Request::SignalExec { exec, signal: libc::SIGKILL };
            // Its container may have ended meanwhile.
            let _ = async { Client::connect(&work.directory()).await?.done(request).await }.await;
        });
    }
}

pub(super) async fn get(work: &Work, container: &Container, action: &HTTPGetAction) -> Result<(), String> {
    let port = port(container, &action.port)?;
    let host = action.host.as_deref().filter(|host| !host.is_empty());
    let address = match host {
        Some(host) => host.to_owned(),
        None => pod_address(work)?.to_string(),
    };
    http::get(&address, port, action).await
}

pub(super) async fn connect(
    work: &Work,
    container: &Container,
    action: &TCPSocketAction,
) -> Result<(), String> {
    let port = port(container, &action.port)?;
    let host = action.host.as_deref().filter(|host| !host.is_empty());
    let address = match host {
        Some(host) => host.to_owned(),
        None => pod_address(work)?.to_string(),
    };
    let connected = TcpStream::connect((address.as_str(), port)).await;
    connected.map(drop).map_err(|error| format!("dial tcp {address}:{port}: connect: {error}"))
}

async fn health(work: &Work, action: &GRPCAction) -> Result<(), String> {
    let port = u16::try_from(action.port).map_err(|_| format!("{} is no port", action.port))?;
    grpc::check(pod_address(work)?, port, action.service.as_deref().unwrap_or_default()).await
}

fn pod_address(work: &Work) -> Result<IpAddr, String> {
    let on_host = || work.tools.node.addresses.first()?.parse().ok();
    let own = work.address.map(IpAddr::from);
    own.or_else(on_host).ok_or_else(|| "the Pod has no address".to_owned())
}

/// By number, or by the name that the container gives it.
fn port(container: &Container, port: &IntOrString) -> Result<u16, String> {
    let number = match port {
        IntOrString::Int(number) => Some(*number),
        IntOrString::String(name) => {
            let mut named = container.ports.iter().flatten();
            let named = named.find(|port| port.name.as_deref() == Some(name));
            named.map(|port| port.container_port).or_else(|| name.parse().ok())
        }
    };
    let number = number.and_then(|number| u16::try_from(number).ok()).filter(|number| *number > 0);
    number.ok_or_else(|| "couldn't find port".to_owned())
}

/// Within its time, or an error that says so.
pub(super) async fn in_time(
    patience: Duration,
    asked: impl Future<Output = Result<(), String>>,
) -> Result<(), String> {
    match tokio::time::timeout(patience, asked).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("no answer within {}s", patience.as_secs())),
    }
}
