//! Where one bout takes place: a new API server, one operator, a kubelet that pretends, and the load, each a process of its
//! own. Everything goes with the value.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use super::contender::{Contender, Side, flags};
use super::generator::Generator;
use super::looks::Looks;
use crate::bench::attendant::Attendant;
use crate::bench::embedded::{Embedded, Extent};
use crate::bench::processor::{Reading, Shares, Watched};
use crate::bench::{memory, program};
use crate::kube::{self, Cluster, Options};
use crate::{parts, terminal};

/// Who serves the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(super) enum Ground {
    /// kube-apiserver and an etcd that waits for the disk
    Kubernetes,
    /// `asb up`; our operator in its process, upstream's in one of its own
    Embedded,
}

impl Ground {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Kubernetes => "kube-apiserver",
            Self::Embedded => "asb up",
        }
    }
}

/// From the binding of a Pod until it is Ready.
const START_OF_A_POD: &str = "100";

/// What must be there before anything is measured.
pub(super) struct Programs {
    asb: PathBuf,
    load: PathBuf,
    theirs: PathBuf,
    /// What ours gets.
    our_flags: Vec<String>,
}

impl Programs {
    pub(super) fn obtain(our_flags: Vec<String>) -> Result<Self> {
        let [asb, load] = terminal::step("build asb and the load", program::asb_and_claims)?;
        let theirs = parts::obtain(&["agent-sandbox-controller"])?.remove("agent-sandbox-controller");
        Ok(Self { asb, load, theirs: theirs.context("it was asked for")?, our_flags })
    }
}

/// The first to be dropped are those who need the others.
pub(super) struct Ring {
    pub(super) generator: Generator,
    contender: Option<Contender>,
    kubelet: Attendant,
    server: Server,
}

enum Server {
    Kubernetes(Cluster),
    Embedded(Embedded),
}

impl Ring {
    /// Everything runs, and one small pool has been filled: nobody starts cold.
    pub(super) fn open(programs: &Programs, folder: &Path, ground: Ground, side: Side) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        let server = Server::start(programs, folder, ground, side)?;
        let kubeconfig = server.kubeconfig();
        let kubelet = kubelet(&programs.load, &kubeconfig, &folder.join("kubelet.log"))?;
        let log = folder.join("operator.log");
        let contender = match (ground, side) {
            (Ground::Embedded, Side::Ours) => None,
            (_, Side::Ours) => {
                let arguments = [&["operator".to_owned()], &programs.our_flags[..]].concat();
                Some(Contender::start(&programs.asb, &arguments, &kubeconfig, &log)?)
            }
            (_, Side::Theirs) => Some(Contender::start(&programs.theirs, &flags(&[]), &kubeconfig, &log)?),
        };
        let generator = Generator::start(&programs.load, &kubeconfig, &folder.join("load.log"))?;
        let mut ring = Self { generator, contender, kubelet, server };
        ring.generator.prepare()?;
        ring.generator.pool("first", 1, 60).context("the operator does not fill a pool of one")?;
        Ok(ring)
    }

    /// Does something, and says who used the processors meanwhile.
    pub(super) fn measured<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<(T, Shares)> {
        let watched = self.watched()?;
        let before = Reading::take(&watched)?;
        let done = work(self)?;
        Ok((done, before.until(&Reading::take(&watched)?)))
    }

    /// Mebibytes of the operator, and of the server around it where it has no process of its own.
    pub(super) fn memory(&self) -> Result<f64> {
        let kibibytes = memory::of(self.operator())?;
        Ok(f64::from(u32::try_from(kibibytes).context("too much memory to count")?) / 1024.0)
    }

    /// What the operator counts; nothing where it serves no metrics.
    pub(super) fn looks(&self) -> Result<Option<Looks>> {
        let exposition = self.contender.as_ref().map(Contender::exposition).transpose()?;
        Ok(exposition.map(|text| Looks::read(&text)))
    }

    fn operator(&self) -> u32 {
        match (&self.contender, &self.server) {
            (Some(contender), _) => contender.id(),
            (None, Server::Embedded(server)) => server.id(),
            (None, Server::Kubernetes(_)) => unreachable!("on Kubernetes every operator has its process"),
        }
    }

    fn watched(&self) -> Result<Vec<Watched>> {
        let mut watched = vec![("kubelet", self.kubelet.id()), ("load", self.generator.id())];
        watched.extend(self.contender.iter().map(|contender| ("operator", contender.id())));
        match &self.server {
            Server::Embedded(server) => watched.push(("server", server.id())),
            Server::Kubernetes(cluster) => {
                watched.extend(kube::processes(&cluster.name)?.iter().filter_map(|process| {
                    Some(match process.program.as_str() {
                        "kube-apiserver" => ("server", process.pid),
                        "etcd" => ("etcd", process.pid),
                        _ => return None,
                    })
                }));
            }
        }
        Ok(watched)
    }
}

impl Server {
    fn start(programs: &Programs, folder: &Path, ground: Ground, side: Side) -> Result<Self> {
        if ground == Ground::Embedded {
            let extent = if side == Side::Ours { Extent::Operator } else { Extent::Api };
            return Ok(Self::Embedded(Embedded::start(&programs.asb, &folder.join("data"), extent)?));
        }
        let name = format!("race-{}", std::process::id());
        let cluster = kube::borrow(&Options { name, node: false, durable: true, use_existing: false })?;
        ensure!(cluster.is_borrowed(), "this fills a cluster with claims, so it needs one of its own");
        Ok(Self::Kubernetes(cluster))
    }

    fn kubeconfig(&self) -> PathBuf {
        match self {
            Self::Kubernetes(cluster) => cluster.kubeconfig.clone(),
            Self::Embedded(server) => server.kubeconfig(),
        }
    }
}

/// Waits until its node is there.
fn kubelet(load: &Path, kubeconfig: &Path, log: &Path) -> Result<Attendant> {
    let mut kubelet = Attendant::start(load, log, |command| {
        command.arg("kubelet").arg(kubeconfig).arg(START_OF_A_POD).stdout(Stdio::piped());
    })?;
    let mut line = String::new();
    BufReader::new(kubelet.0.stdout.take().context("its output is piped")?).read_line(&mut line)?;
    ensure!(line.trim() == "ready", "the kubelet that pretends did not start; see {}", log.display());
    Ok(kubelet)
}
