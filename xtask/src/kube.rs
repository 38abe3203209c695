//! `cargo xtask kube`: a real Kubernetes on this machine, for tests and benchmarks.
//! This file is the way in: the command line, and `up` for other subcommands that need a cluster.

mod census;
mod cluster;
mod component;
mod control_plane;
mod crew;
mod description;
mod existing;
mod identity;
mod image;
mod keeper;
mod kubectl;
mod launch;
mod node;
mod place;
mod ready;
mod remove;
mod report;
mod resources;
mod supervise;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand, ValueEnum};

pub(crate) use census::Process;
use cluster::up;
pub(crate) use cluster::{Cluster, Options, borrow, prepare};
use description::Description;
pub(crate) use node::images;

use crate::terminal;

/// A real Kubernetes on this machine, for tests and benchmarks.
///
/// `up` builds etcd and Kubernetes from pinned Go modules (minutes, once per version)
/// and starts them (seconds). Several clusters run side by side, by name.
/// `down` leaves nothing behind.
///
/// What it listens to:
///   KUBEBUILDER_ASSETS  a folder with kube-apiserver, etcd, kubectl, …:
///                       what is there is used, the rest is built
///   ASB_KUBECONFIG      a cluster that runs already: `up` starts nothing
///                       and only installs our resource definitions
///   KUBECONFIG          the same, but only with --use-existing
///   ASB_CACHE           where built parts are kept
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Start a cluster and wait until it is ready.
    Up(Options),
    /// Stop clusters and remove everything of theirs: processes, mounts, links, cgroups, files.
    Down {
        #[arg(long, default_value = DEFAULT_NAME)]
        name: String,
        /// Every cluster of this user.
        #[arg(long, conflicts_with = "name")]
        all: bool,
    },
    /// Show which parts of which clusters run.
    Status {
        /// Only this cluster.
        #[arg(long)]
        name: Option<String>,
        #[arg(short, long, value_enum, default_value_t)]
        output: Output,
    },
    /// Give a cluster's node an image, from an archive as `docker save` writes it.
    Load {
        archive: PathBuf,
        #[arg(long, default_value = DEFAULT_NAME)]
        name: String,
    },
    /// Run a command with KUBECONFIG set to a cluster that exists only while it runs; without --name, one of its own.
    Run {
        #[command(flatten)]
        options: Options,
        #[arg(last = true, required = true)]
        command: Vec<String>,
    },
    /// Print how to reach a cluster: `eval "$(cargo xtask kube env)"`.
    Env {
        #[arg(long, default_value = DEFAULT_NAME)]
        name: String,
        #[arg(short, long, value_enum, default_value_t)]
        output: Output,
    },
    /// Be a cluster: the process that `up` starts.
    #[command(hide = true)]
    Supervise { directory: PathBuf },
    /// Remove a cluster as soon as standard input closes.
    #[command(hide = true)]
    Keep { name: String },
}

#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Output {
    #[default]
    Text,
    Json,
}

pub(crate) const DEFAULT_NAME: &str = "main";

pub(crate) fn run(arguments: Arguments) -> Result<()> {
    match arguments.action {
        Action::Up(options) => up(&options).map(|cluster| terminal::note(&cluster.usage())),
        Action::Down { all: true, .. } => down_all(),
        Action::Down { name, .. } => down(&name),
        Action::Status { name, output } => report::status(name.as_deref(), output),
        Action::Load { archive, name } => load(&name, &archive),
        Action::Run { options, command } => run_within(options, &command),
        Action::Env { name, output } => report::environment(&name, output),
        Action::Supervise { directory } => supervise::supervise(&directory),
        Action::Keep { name } => keeper::keep(&name),
    }
}

/// The processes that make up a cluster; not what runs inside its Pods.
pub(crate) fn processes(name: &str) -> Result<Vec<Process>> {
    census::processes(&place::directory(name)?)
}

/// Gives a cluster's node an image.
pub(crate) fn load(name: &str, archive: &Path) -> Result<()> {
    let directory = place::directory(name)?;
    ensure!(
        directory.exists(),
        "there is no cluster {name}; start it with `cargo xtask kube up --node --name {name}`"
    );
    let cluster = Description::load(&directory)?;
    ensure!(cluster.has_node(), "cluster {name} has no node; start it with --node");
    images::import(&cluster, archive)
}

fn run_within(mut options: Options, command: &[String]) -> Result<()> {
    if options.name == DEFAULT_NAME {
        options.name = format!("run-{}", std::process::id());
    }
    let cluster = borrow(&options)?;
    let (program, arguments) = command.split_first().context("no command given")?;
    let status = Command::new(program)
        .args(arguments)
        .envs(cluster.environment())
        .status()
        .with_context(|| format!("run {program}"))?;
    drop(cluster);
    match status.code() {
        Some(0) => Ok(()),
        // The command said why; its exit code is ours.
        Some(code) => std::process::exit(code),
        None => bail!("{program} failed ({status})"),
    }
}

/// Every one of them, also after one that could not be removed.
fn down_all() -> Result<()> {
    let removals: Vec<_> = place::names()?.iter().map(|name| down(name)).collect();
    removals.into_iter().collect()
}

fn down(name: &str) -> Result<()> {
    terminal::step(&format!("remove cluster {name}"), || remove::remove(name))
}
