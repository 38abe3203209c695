//! From a Pod, and all that was looked up for it, to the plans that its shim carries out. Pure: what is on disk, in the store
//! and on the network has been resolved before, and nothing is left to decide after.

mod amounts;
mod command;
mod environment;
mod error;
mod expansion;
mod fields;
#[cfg(test)]
mod fixtures;
mod hostname;
mod hosts;
mod identity;
mod limits;
mod mounts;
mod oom;
mod privileges;
mod resolver;
mod sandbox;
mod services;

use std::collections::BTreeMap;
use std::path::{Component, PathBuf};

use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod, PodSpec, Secret, Service};

use crate::quantity::List;
use crate::shim::plan::{
    ContainerPlan, IdRange, Log, MASKED_PATHS, Overlay, Process, READ_ONLY_PATHS, Rlimit, Root, Runtime,
    SandboxPlan, Stdin,
};

pub use amounts::value as resource_field;
pub use error::Error;
pub use fields::{Whereabouts, value as pod_field};
pub use hostname::{HostnameError, Names};
pub use hosts::text as hosts_file;
pub use identity::question as whom_to_look_up;
pub use resolver::{Resolver, text as resolver_file};

const TERMINATION_MESSAGE: &str = "/dev/termination-log";

/// A Pod with everything that was looked up for it.
#[derive(Clone, Copy, Debug)]
pub struct Resolved<'a> {
    pub pod: &'a Pod,
    pub node: &'a Node,
    pub ids: IdRange,
    pub runtime: &'a Runtime,
    /// The Pod's, the primary one first.
    pub addresses: &'a [String],
    /// Of the Pod's namespace, by name: those that exist among the ones it refers to.
    pub config_maps: &'a BTreeMap<String, ConfigMap>,
    pub secrets: &'a BTreeMap<String, Secret>,
    /// Those of the Pod's namespace, and `kubernetes` of the default one.
    pub services: &'a [Service],
    /// By the volume's name.
    pub volumes: &'a BTreeMap<String, Place>,
    pub files: &'a Files,
}

/// What is the same for every Pod of this machine.
#[derive(Clone, Debug, Default)]
pub struct Node {
    pub name: String,
    pub addresses: Vec<String>,
    /// Bytes.
    pub memory: u64,
    pub allocatable: List,
    pub pids_per_pod: Option<u64>,
    /// How many files a process may have open.
    pub open_files: u64,
    /// Below which Pods have their cgroups, relative to the root of each hierarchy.
    pub cgroup: PathBuf,
    /// `cluster.local`
    pub domain: String,
    /// Who answers for names of the cluster.
    pub name_servers: Vec<String>,
    /// What the machine itself asks.
    pub resolver: Resolver,
    /// Below which containers write their output.
    pub logs: PathBuf,
    pub log_bytes: u64,
    pub log_files: u32,
}

impl Node {
    /// Where the containers of a Pod write their output, as those who collect it look for it.
    pub fn logs_of(&self, pod: &Pod) -> PathBuf {
        let metadata = &pod.metadata;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let names = [&metadata.namespace, &metadata.name, &metadata.uid].map(text);
        self.logs.join(names.join("_"))
    }
}

/// Where a volume is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Path {
        path: PathBuf,
        /// Whatever the mount says: files that follow an object are not the container's to change.
        read_only: bool,
        /// With the mounts below it.
        recursive: bool,
    },
    Memory,
}

/// Files of the Pod that every container has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    pub hosts: PathBuf,
    pub hostname: PathBuf,
    pub resolver: PathBuf,
}

/// An image as far as a container depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Lowest first.
    pub layers: Vec<PathBuf>,
    pub overlays: Vec<Overlay>,
    pub entrypoint: Vec<String>,
    pub cmd: Vec<String>,
    pub env: Vec<String>,
    pub user: String,
    pub working_dir: String,
}

/// What the image's lists say about [`whom_to_look_up`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
    pub home: String,
}

/// What the containers of the Pod will share.
pub fn sandbox(resolved: &Resolved<'_>) -> Result<SandboxPlan, Error> {
    sandbox::plan(resolved)
}

/// One attempt at one of the Pod's containers.
pub fn container(
    resolved: &Resolved<'_>,
    name: &str,
    image: &Image,
    account: &Account,
    attempt: u32,
) -> Result<ContainerPlan, Error> {
    let spec = resolved.spec()?;
    let container = resolved.container(name)?;
    let user = identity::user(resolved, container, image, account)?;
    let variables = environment::variables(resolved, container)?;
    let granted = privileges::of(spec, container);
    let process = Process {
        args: command::arguments(container, image, &variables)?,
        env: environment::complete(resolved, container, image, account, &variables)?,
        cwd: command::directory(container, image),
        user,
        capabilities: granted.capabilities,
        no_new_privileges: granted.no_new_privileges,
        seccomp: granted.seccomp,
        rlimits: vec![open_files(resolved.node)],
        tty: container.tty == Some(true),
    };
    let read_only = granted.read_only_root;
    let paths = |paths: &[&str]| {
        if granted.is_unmasked { Vec::new() } else { paths.iter().map(PathBuf::from).collect() }
    };
    Ok(ContainerPlan {
        root: Root { layers: image.layers.clone(), overlays: image.overlays.clone(), read_only },
        process,
        mounts: mounts::of(resolved, container, &variables, read_only)?,
        limits: limits::of_container(spec, container),
        oom_score_adj: oom::score(resolved.pod, container, resolved.node.memory),
        masked_paths: paths(MASKED_PATHS),
        read_only_paths: paths(READ_ONLY_PATHS),
        stdin: stdin(container),
        log: Some(log(resolved, name, attempt)),
        termination_message: Some(termination_message(container)?),
    })
}

/// As many as the machine lets, at once: programs do not ask for more by themselves. Engines do the same.
fn open_files(node: &Node) -> Rlimit {
    Rlimit { resource: libc::RLIMIT_NOFILE, soft: node.open_files, hard: node.open_files }
}

impl<'a> Resolved<'a> {
    fn spec(&self) -> Result<&'a PodSpec, Error> {
        self.pod.spec.as_ref().ok_or(Error::NoSpec)
    }

    fn container(&self, name: &str) -> Result<&'a Container, Error> {
        let found = containers(self.spec()?).find(|container| container.name == name);
        found.ok_or_else(|| Error::NoContainer(name.to_owned()))
    }

    fn namespace(&self) -> &'a str {
        self.pod.metadata.namespace.as_deref().unwrap_or_default()
    }

    fn names(&self) -> Result<Names, Error> {
        Ok(Names::of(self.pod, &self.node.domain)?)
    }

    fn whereabouts(&self) -> Whereabouts<'a> {
        Whereabouts { pod: self.addresses, node: &self.node.addresses }
    }
}

fn containers(spec: &PodSpec) -> impl Iterator<Item = &Container> {
    spec.init_containers.iter().flatten().chain(&spec.containers)
}

fn stdin(container: &Container) -> Stdin {
    match (container.stdin, container.stdin_once) {
        (Some(true), Some(true)) => Stdin::Once,
        (Some(true), _) => Stdin::Open,
        _ => Stdin::Closed,
    }
}

fn termination_message(container: &Container) -> Result<PathBuf, Error> {
    let named = container.termination_message_path.as_deref().filter(|path| !path.is_empty());
    let path = PathBuf::from("/").join(named.unwrap_or(TERMINATION_MESSAGE));
    let climbs = path.components().any(|part| part == Component::ParentDir);
    if climbs || mounts::is_the_kernels(&path) {
        return Err(Error::KernelPath("the termination message".to_owned(), path));
    }
    Ok(path)
}

/// Where the tools that collect logs look for them.
fn log(resolved: &Resolved<'_>, container: &str, attempt: u32) -> Log {
    Log {
        path: resolved.node.logs_of(resolved.pod).join(container).join(format!("{attempt}.log")),
        max_bytes: resolved.node.log_bytes,
        max_files: resolved.node.log_files,
    }
}

#[cfg(test)]
mod tests;
