//! The seam to whoever runs Pods. The transports carry bytes between clients and what is behind this trait; starting,
//! finding and ending processes is the implementation's business.

use std::future::Future;
use std::io;
use std::pin::Pin;

use bytes::Bytes;
use futures::Stream;
use futures::future::BoxFuture;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use super::logs::LogOptions;
use super::usage::{NodeUsage, PodUsage};
use crate::security::authentication::User;

/// Whoever runs Pods.
pub trait PodStreams: Send + Sync + 'static {
    /// Whether it is measured what Pods use: `metrics.k8s.io` is served then.
    const METERED: bool = false;

    /// What the Pods use that run, of all namespaces or of one.
    fn usage(&self, namespace: Option<&str>) -> impl Future<Output = Result<Vec<PodUsage>, Error>> + Send {
        let _ = namespace;
        std::future::ready(Ok(Vec::new()))
    }

    /// What the machine uses that they run on.
    fn node_usage(&self) -> impl Future<Output = Result<NodeUsage, Error>> + Send {
        std::future::ready(Ok(NodeUsage::default()))
    }

    /// Says why there will be no process, before the client is asked to begin. What is not known then is told later.
    fn check(&self, container: &Container) -> impl Future<Output = Result<(), Error>> + Send {
        let _ = container;
        std::future::ready(Ok(()))
    }

    /// Starts a process in a container.
    fn exec(
        &self,
        container: &Container,
        command: &[String],
        wanted: Wanted,
    ) -> impl Future<Output = Result<Process, Error>> + Send;

    /// Joins the main process of a container.
    fn attach(
        &self,
        container: &Container,
        wanted: Wanted,
    ) -> impl Future<Output = Result<Process, Error>> + Send;

    /// Connects somebody to a port inside a Pod.
    fn port_forward(
        &self,
        pod: &Pod,
        port: u16,
        who: &User,
    ) -> impl Future<Output = Result<Box<dyn Connection>, Error>> + Send;

    /// What a container wrote.
    fn logs(
        &self,
        container: &Container,
        options: &LogOptions,
    ) -> impl Future<Output = Result<Log, Error>> + Send;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    pub namespace: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    pub pod: Pod,
    /// Nothing where the client leaves the choice to the Pod's default container.
    pub name: Option<String>,
}

/// Which of a process' ends a client wants to hold. With `terminal`, errors come with the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are four independent parameters of the request")]
pub struct Wanted {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
    pub terminal: bool,
}

/// A running process, as far as a client sees it. Dropping it says that the client has left; what becomes of the
/// process then is for its owner to decide.
pub struct Process {
    pub stdin: Option<Input>,
    pub stdout: Option<Output>,
    pub stderr: Option<Output>,
    /// Takes the size of the client's terminal whenever it changes. Only the latest counts.
    pub size: Option<watch::Sender<TerminalSize>>,
    /// Ends with the exit code; 128 and the number of the signal for a process that was killed.
    pub exit: BoxFuture<'static, Result<u8, Error>>,
}

/// The end of a pipe into which a client's input goes.
pub type Input = Box<dyn AsyncWrite + Send + Unpin>;

/// The end of a pipe from which output comes.
pub type Output = Box<dyn AsyncRead + Send + Unpin>;

/// The lines of a log, as bytes.
pub type Log = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// A connection into a Pod.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// In characters. Clients send it as JSON with capital names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct TerminalSize {
    pub width: u16,
    pub height: u16,
}

/// Why a Pod cannot do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It makes no sense to ask that of this Pod, or not yet.
    #[error("{0}")]
    Bad(String),
    /// There is no such container, or it does not run.
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Failed(String),
}
