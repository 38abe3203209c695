//! Commands in a Sandbox: one that is started there, and the one that its container is for. Carries their input and
//! output, and tells how they ended.

mod exit;
mod pump;

use asb_types::conditions::READY;
use asb_types::v1beta1::{OperatingMode, Sandbox};
use futures::future::BoxFuture;
use futures::{FutureExt, SinkExt, future};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::ResourceExt;
use kube::api::{AttachParams, AttachedProcess, TerminalSize};

use crate::client::Client;
use crate::error::Error;
use crate::pods::{self, default_container, pod_name};

pub use pump::{Ends, SizeSender};

/// How much may be under way in each direction.
const BUFFER: usize = 64 * 1024;

/// Which ends of a command somebody wants to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The container, where it is not the one that is meant anyway.
    pub container: Option<String>,
    pub stdin: bool,
    /// A terminal, on which errors come with the output.
    pub tty: bool,
}

/// A command under way. It ends for us when this value goes.
pub struct Process {
    attached: AttachedProcess,
    status: BoxFuture<'static, Option<Status>>,
}

impl Client {
    /// Starts a command in a Sandbox that runs.
    ///
    /// ```no_run
    /// # async fn example(client: asb_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use asb_client::{Ends, Wanted};
    ///
    /// let sandbox = client.find_sandbox(&"box".parse()?).await?;
    /// let process = client.exec(&sandbox, &["uname", "-a"], &Wanted::default()).await?;
    /// let mut said = Vec::new();
    /// let ends = Ends { input: None::<tokio::io::Empty>, output: &mut said, errors: tokio::io::sink() };
    /// assert_eq!(process.pump(ends).await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn exec(
        &self,
        sandbox: &Sandbox,
        command: &[impl AsRef<str>],
        wanted: &Wanted,
    ) -> Result<Process, Error> {
        let (pod, container) = self.running(sandbox, wanted.container.as_deref()).await?;
        let pods = self.api::<Pod>(&sandbox.namespace().unwrap_or_default());
        let command: Vec<&str> = command.iter().map(AsRef::as_ref).collect();
        let started = pods.exec(&pod.name_any(), command, &params(wanted, &container)).await;
        Ok(Process::new(started.map_err(|cause| Error::api("start the command", cause))?))
    }

    /// Joins the command that a container is for.
    pub async fn attach(&self, sandbox: &Sandbox, wanted: &Wanted) -> Result<Process, Error> {
        let (pod, container) = self.running(sandbox, wanted.container.as_deref()).await?;
        let pods = self.api::<Pod>(&sandbox.namespace().unwrap_or_default());
        let joined = pods.attach(&pod.name_any(), &params(wanted, &container)).await;
        Ok(Process::new(joined.map_err(|cause| Error::api("join the command", cause))?))
    }

    /// Types into the command that a container is for, and leaves its output alone.
    pub async fn attach_input(&self, sandbox: &Sandbox, wanted: &Wanted) -> Result<Process, Error> {
        let (pod, container) = self.running(sandbox, wanted.container.as_deref()).await?;
        let pods = self.api::<Pod>(&sandbox.namespace().unwrap_or_default());
        let params =
            params(&Wanted { stdin: true, ..wanted.clone() }, &container).stdout(false).stderr(false);
        let joined = pods.attach(&pod.name_any(), &params).await;
        Ok(Process::new(joined.map_err(|cause| Error::api("join the command", cause))?))
    }

    /// The Pod of a Sandbox and the container that is meant, which runs.
    pub(crate) async fn running(
        &self,
        sandbox: &Sandbox,
        container: Option<&str>,
    ) -> Result<(Pod, String), Error> {
        let (pod, container) = self.container(sandbox, container).await?;
        if pods::is_running(&pod, &container) {
            return Ok((pod, container));
        }
        let why = match pods::ending(&pod, &container) {
            Some(ending) => format!("its command ended with {}", ending.exit_code),
            None => "it has not started yet".to_owned(),
        };
        Err(Error::NotRunning { name: sandbox.name_any(), why })
    }

    /// The Pod of a Sandbox and the container that is meant, in whatever state.
    pub(crate) async fn container(
        &self,
        sandbox: &Sandbox,
        container: Option<&str>,
    ) -> Result<(Pod, String), Error> {
        let pod = self.pod(sandbox).await?.ok_or_else(|| no_pod(sandbox))?;
        let meant = container.map(str::to_owned).or_else(|| default_container(&pod)).unwrap_or_default();
        let there = pods::containers(&pod);
        if there.contains(&meant) {
            return Ok((pod, meant));
        }
        Err(Error::NoContainer { name: sandbox.name_any(), container: meant, there })
    }

    /// The Pod of a Sandbox, if it has one.
    pub async fn pod(&self, sandbox: &Sandbox) -> Result<Option<Pod>, Error> {
        let pods = self.api::<Pod>(&sandbox.namespace().unwrap_or_default());
        let found = pods.get_opt(&pod_name(sandbox)).await;
        found.map_err(|cause| Error::api("look for the Pod", cause))
    }
}

fn no_pod(sandbox: &Sandbox) -> Error {
    let name = sandbox.name_any();
    if sandbox.spec.operating_mode == OperatingMode::Suspended {
        return Error::Suspended { name };
    }
    let conditions = sandbox.status.iter().flat_map(|status| &status.conditions);
    let ready = conditions.into_iter().find(|condition| condition.type_ == READY);
    let why = ready.map_or_else(|| "nobody looks after it yet".to_owned(), |ready| ready.message.clone());
    Error::NotRunning { name, why }
}

/// On a terminal there is one stream for all that is said.
fn params(wanted: &Wanted, container: &str) -> AttachParams {
    AttachParams::default()
        .container(container)
        .stdin(wanted.stdin)
        .stdout(true)
        .stderr(!wanted.tty)
        .tty(wanted.tty)
        .max_stdin_buf_size(BUFFER)
        .max_stdout_buf_size(BUFFER)
        .max_stderr_buf_size(BUFFER)
}

impl Process {
    fn new(mut attached: AttachedProcess) -> Self {
        let status = attached.take_status().map_or_else(|| future::ready(None).boxed(), FutureExt::boxed);
        Self { attached, status }
    }

    /// Where the size of the terminal is told, if there is one.
    pub fn sizes(&mut self) -> Option<SizeSender> {
        let sender = self.attached.terminal_size()?;
        Some(Box::new(sender.with(|(width, height)| future::ready(Ok(TerminalSize { width, height })))))
    }
}
