//! The program that calls and is called, in a process of its own: it takes orders one by one and answers each. The other half is
//! `crates/load/src/proxy`.

use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::bench::attendant::Attendant;

/// Nothing that it is asked for takes so long.
const DEAD: Duration = Duration::from_mins(10);

pub(super) struct Load {
    program: Attendant,
    answers: Receiver<String>,
    /// Where what stands for a sandbox listens.
    pub(super) backend: SocketAddr,
}

/// Calls to be made, each as soon as the one before was answered.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Calls {
    pub(super) address: String,
    /// Over TLS, to whoever shows this.
    pub(super) certificate: Option<PathBuf>,
    pub(super) head: Vec<String>,
    /// The body, if there is one: a text, or so many zeros.
    pub(super) text: String,
    pub(super) zeros: u64,
    /// What has to be in the first answer.
    pub(super) expected: String,
    pub(super) upgrade: bool,
    pub(super) connections: usize,
    /// Milliseconds.
    pub(super) warm_up: u64,
    pub(super) measured: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Sample {
    /// Those before it counted are among them.
    pub(super) requests: f64,
    pub(super) per_second: f64,
    /// Microseconds.
    pub(super) median: f64,
    pub(super) high: f64,
    pub(super) mebibytes_per_second: f64,
}

#[derive(Deserialize)]
struct Greeting {
    backend: SocketAddr,
}

impl Load {
    pub(super) fn start(program: &Path, log: &Path) -> Result<Self> {
        let address = own_address()?.to_string();
        let mut program = Attendant::start(program, log, |command| {
            command.arg(address).stdout(Stdio::piped());
        })?;
        let lines = BufReader::new(program.0.stdout.take().context("its output is piped")?).lines();
        let (sender, answers) = mpsc::channel();
        // It ends with the program, whose output then ends.
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let greeting = answers.recv_timeout(DEAD).context("the load does not start")?;
        let Greeting { backend } = serde_json::from_str(&greeting).context("the greeting of the load")?;
        Ok(Self { program, answers, backend })
    }

    pub(super) fn calls(&mut self, calls: &Calls) -> Result<Sample> {
        let mut order = serde_json::to_value(calls)?;
        order["order"] = json!("calls");
        self.order(&order)
    }

    /// Something about Sandboxes at an API server.
    pub(super) fn sandboxes<T: DeserializeOwned>(&mut self, kubeconfig: &Path, mut work: Value) -> Result<T> {
        work["order"] = json!("sandboxes");
        work["kubeconfig"] = json!(kubeconfig);
        self.order(&work)
    }

    fn order<T: DeserializeOwned>(&mut self, order: &Value) -> Result<T> {
        let input = self.program.0.stdin.as_mut().context("its input is piped")?;
        writeln!(input, "{order}").context("telling the load what to do")?;
        let answer = self.answers.recv_timeout(DEAD).context("the load does not answer")?;
        let mut answer: Value = serde_json::from_str(&answer)?;
        if let Some(reason) = answer["failed"].as_str() {
            bail!("{reason}");
        }
        serde_json::from_value(answer["done"].take()).context("reading an answer of the load")
    }
}

/// The router carries nothing to the loopback, so that a sandbox is not found there.
fn own_address() -> Result<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // Nothing is sent: it is only asked from where that would be.
    let route = socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr());
    let address = route.context("this machine has no address besides its loopback")?.ip();
    ensure!(!address.is_loopback() && !address.is_unspecified(), "this machine has only its loopback");
    Ok(address)
}
