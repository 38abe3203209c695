//! Brings a cluster up, from nothing or from what is there, and hands it to whoever asked.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::description::Description;
use super::keeper::Keeper;
use super::kubectl::Kubectl;
use super::{census, control_plane, existing, identity, launch, node, place, ready, remove, resources};
use crate::{parts, terminal};

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Which cluster; names keep their ports and addresses.
    #[arg(long, default_value = super::DEFAULT_NAME)]
    pub(crate) name: String,
    /// With a node that runs Pods (needs root): containerd, kubelet, kube-proxy, DNS and gVisor in namespaces of
    /// their own. Without it, a control plane on loopback.
    #[arg(long)]
    pub(crate) node: bool,
    /// Let etcd wait for the disk on every write, as benchmarks must.
    #[arg(long)]
    pub(crate) durable: bool,
    /// Use the cluster that KUBECONFIG names, start nothing, and only install our resource definitions in it.
    #[arg(long)]
    pub(crate) use_existing: bool,
}

/// A cluster that answers.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) name: String,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) kubectl: PathBuf,
    /// Where kubectl remembers which kinds are served.
    cache: PathBuf,
    /// Removes the cluster together with this value; none for a cluster that is to stay.
    keeper: Option<Keeper>,
}

impl Cluster {
    /// One that somebody else runs.
    pub(crate) fn existing(name: String, kubeconfig: PathBuf, kubectl: PathBuf, cache: PathBuf) -> Self {
        Self { name, kubeconfig, kubectl, cache, keeper: None }
    }

    /// What a program needs in its environment to talk to this cluster and no other; the last two are for the suites.
    pub(crate) fn environment(&self) -> [(&'static str, PathBuf); 5] {
        [
            ("KUBECONFIG", self.kubeconfig.clone()),
            ("KUBECACHEDIR", self.cache.clone()),
            ("ASB_KUBECTL", self.kubectl.clone()),
            ("ASB_TEST_KUBECONFIG", self.kubeconfig.clone()),
            ("ASB_TEST_KUBECTL", self.kubectl.clone()),
        ]
    }

    /// Whether it goes with this value.
    pub(crate) fn is_borrowed(&self) -> bool {
        self.keeper.is_some()
    }

    pub(crate) fn usage(&self) -> String {
        let (name, kubectl, kubeconfig) = (&self.name, self.kubectl.display(), self.kubeconfig.display());
        let ready =
            format!("cluster {name} is ready:\n    {kubectl} --kubeconfig {kubeconfig} get namespaces");
        if !place::directory(name).is_ok_and(|directory| self.kubeconfig.starts_with(directory)) {
            return ready;
        }
        format!(
            "{ready}\n    eval \"$(cargo xtask kube env --name {name})\"\n    cargo xtask kube down --name {name}"
        )
    }
}

impl TryFrom<&Description> for Cluster {
    type Error = anyhow::Error;

    fn try_from(cluster: &Description) -> Result<Self> {
        let kubectl = cluster.program("kubectl")?.to_owned();
        let (name, kubeconfig) = (cluster.name.clone(), cluster.kubeconfig());
        Ok(Self { name, kubeconfig, kubectl, cache: cluster.kubectl_cache(), keeper: None })
    }
}

/// A ready cluster for as long as this process needs it: it goes when the value is dropped or the process ends in any
/// way. A cluster that ran before is used and left alone.
pub(crate) fn borrow(options: &Options) -> Result<Cluster> {
    if existing::wanted(options)?.is_some() || running(&place::directory(&options.name)?).is_some() {
        return up(options);
    }
    let keeper = Keeper::of(&options.name)?;
    Ok(Cluster { keeper: Some(keeper), ..up(options)? })
}

/// Obtains what a cluster needs and starts nothing. An error means that it cannot be had on this machine.
pub(crate) fn prepare(options: &Options) -> Result<()> {
    match existing::wanted(options)? {
        Some(_) => Ok(()),
        None => Parts::obtain(options).map(drop),
    }
}

/// A ready cluster as asked for. One that runs already is used as it is; the remains of one that does not are removed.
pub(crate) fn up(options: &Options) -> Result<Cluster> {
    if let Some(kubeconfig) = existing::wanted(options)? {
        return existing::adopt(kubeconfig);
    }
    let directory = place::directory(&options.name)?;
    let parts = Parts::obtain(options)?;
    let _lock = place::lock_name(&options.name)?;
    let cluster = match running(&directory) {
        Some(cluster) => reuse(options, cluster)?,
        None => terminal::step(&format!("start cluster {}", options.name), || start(options, parts))?,
    };
    resources::install(&Kubectl::of(&cluster)?)?;
    Cluster::try_from(&cluster)
}

fn running(directory: &Path) -> Option<Description> {
    // Without processes its address may be somebody else's.
    let cluster = Description::load(directory).ok().filter(|_| lives(directory))?;
    let kubectl = Kubectl::of(&cluster).ok()?;
    kubectl.is_ready().then_some(cluster)
}

fn lives(directory: &Path) -> bool {
    census::processes(directory).is_ok_and(|processes| !processes.is_empty())
}

fn reuse(options: &Options, cluster: Description) -> Result<Description> {
    let fits = cluster.has_node() == options.node && cluster.durable == options.durable;
    ensure!(
        fits,
        "cluster {name} runs already, but with other options; first run `cargo xtask kube down --name {name}`",
        name = cluster.name
    );
    terminal::note(&format!("cluster {} runs already", cluster.name));
    Ok(cluster)
}

/// What must be on disk before a cluster can start.
struct Parts {
    programs: parts::Programs,
    debian: Option<PathBuf>,
}

impl Parts {
    fn obtain(options: &Options) -> Result<Self> {
        if !options.node {
            return Ok(Self { programs: parts::obtain(&control_plane::PROGRAMS)?, debian: None });
        }
        place::require_root()?;
        let programs = parts::obtain(&[&control_plane::PROGRAMS[..], &node::PROGRAMS].concat())?;
        Ok(Self { programs, debian: Some(parts::debian::NODE.obtain()?) })
    }
}

fn start(options: &Options, parts: Parts) -> Result<Description> {
    remove::remove(&options.name).context("remove what an earlier run left")?;
    let cluster = settle(options, parts)?;
    identity::issue(&cluster)?;
    if options.node {
        node::images::make(&cluster)?;
        node::cgroups::create(&cluster)?;
    }
    let mut supervisor = launch::launch(&cluster)?;
    ready::control_plane(&cluster, &mut supervisor)?;
    Kubectl::of(&cluster)?.apply(include_str!("storage.yaml"))?;
    if options.node {
        node::addons::apply(&cluster)?;
        ready::node(&cluster, &mut supervisor)?;
    }
    Ok(cluster)
}

/// Takes a directory, and a port or subnet that no other cluster has.
fn settle(options: &Options, parts: Parts) -> Result<Description> {
    let _lock = place::lock()?;
    let cluster = Description {
        name: options.name.clone(),
        directory: place::create(&options.name)?,
        home: place::home(&options.name, options.node)?,
        durable: options.durable,
        programs: parts.programs,
        debian: parts.debian,
    };
    cluster.save()?;
    Ok(cluster)
}
