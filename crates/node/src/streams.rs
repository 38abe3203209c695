//! What goes in and out of the Pods of this machine while they run, and what they wrote: exec, attach, ports, logs and
//! what they use. How it travels to a client is the API server's; who may ask was decided before.
//!
//! Nothing is held here: Pods are found in the cache, their containers by asking the shim, their logs on disk. So it does
//! not matter who started the Pod, or when.

mod attach;
mod error;
mod exec;
mod logs;
mod machine;
mod place;
mod ports;
mod session;
mod terminal;
mod usage;

use std::path::PathBuf;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;

use crate::cache::Cache;

pub use error::{Error, Kind};
pub use logs::{Log, LogOptions, LogStream};
pub use machine::MachineUsage;
pub use session::{Input, Output, Session, Size, Wanted};
pub use usage::{ContainerUsage, PodUsage};

/// A container of a Pod, as a client names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub namespace: String,
    pub pod: String,
    /// Nothing where the client leaves the choice to the Pod's default container.
    pub container: Option<String>,
}

/// The streams of all Pods of this machine.
#[derive(Clone)]
pub struct Streams {
    /// `<data>/node`.
    root: PathBuf,
    pods: Cache<Pod>,
    meters: Arc<usage::Meters>,
    machine: Arc<machine::Meter>,
}

impl Streams {
    pub fn new(root: PathBuf, pods: Cache<Pod>) -> Self {
        Self { root, pods, meters: Arc::default(), machine: Arc::default() }
    }
}
