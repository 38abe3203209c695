//! The daemon's side: starts the shim of a Pod, or finds the one that runs, and asks it.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StandardStream;
use std::path::Path;
use std::process::{Command, Stdio};

use tokio::io::Interest;
use tokio::net::UnixStream;

use super::directory::Directory;
use super::plan::{ContainerPlan, Process, SandboxPlan, VERSION};
use super::protocol::{Answer, Attempt, Inbox, Message, Reason, Request, State, Status, encode, send};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot start the shim of the Pod")]
    Spawn(#[source] io::Error),
    #[error("cannot reach the shim of the Pod")]
    Connect(#[source] io::Error),
    #[error("lost the shim of the Pod")]
    Lost(#[source] io::Error),
    #[error("{message}")]
    Failed { reason: Reason, message: String },
    #[error("the shim answered something else than what it was asked")]
    Answer,
}

/// A connection to a shim. One request at a time; whoever wants to wait for one thing and do another connects twice.
pub struct Client {
    stream: UnixStream,
    inbox: Inbox,
    /// Of the shim.
    pid: i32,
}

/// How a shim is started: this program, with the words that make it call [`crate::shim::main`].
#[derive(Clone, Debug)]
pub struct Program {
    pub path: std::path::PathBuf,
    pub arguments: Vec<String>,
}

impl Default for Program {
    /// Also after an upgrade has replaced the file.
    fn default() -> Self {
        Self { path: "/proc/self/exe".into(), arguments: vec!["shim".to_owned()] }
    }
}

impl Client {
    /// Starts a shim for the Pod of that directory. It outlives us.
    pub async fn spawn(program: &Program, directory: &Directory) -> Result<Self, Error> {
        let (program, directory) = (program.clone(), directory.clone());
        let spawned = tokio::task::spawn_blocking(move || spawn(&program, &directory)).await;
        let ours = spawned.map_err(io::Error::other).flatten().map_err(Error::Spawn)?;
        Self::greet(ours).await
    }

    /// Reaches the shim that runs for that directory.
    pub async fn connect(directory: &Directory) -> Result<Self, Error> {
        Self::greet(connect(&directory.socket()).map_err(Error::Connect)?).await
    }

    async fn greet(stream: StandardStream) -> Result<Self, Error> {
        stream.set_nonblocking(true).map_err(Error::Connect)?;
        let stream = UnixStream::from_std(stream).map_err(Error::Connect)?;
        let mut client = Self { stream, inbox: Inbox::default(), pid: 0 };
        match client.call(Request::Hello { version: VERSION }, &[]).await? {
            Message { body: Answer::Hello { pid, .. }, .. } => client.pid = pid,
            _ => return Err(Error::Answer),
        }
        Ok(client)
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Makes the Pod's namespaces and returns that of its network, if it has one of its own.
    pub async fn create_sandbox(&mut self, plan: SandboxPlan) -> Result<Option<OwnedFd>, Error> {
        Ok(self.done(Request::CreateSandbox { plan: Box::new(plan) }).await?.pop())
    }

    /// The Pod's network namespace, if it has one of its own.
    pub async fn network(&mut self) -> Result<Option<OwnedFd>, Error> {
        Ok(self.done(Request::Network).await?.pop())
    }

    /// Builds a container and returns its first process, which waits.
    pub async fn create_container(&mut self, attempt: &Attempt, plan: ContainerPlan) -> Result<i32, Error> {
        let request = Request::CreateContainer { attempt: attempt.clone(), plan: Box::new(plan) };
        match self.call(request, &[]).await?.body {
            Answer::Created { pid } => Ok(pid),
            _ => Err(Error::Answer),
        }
    }

    pub async fn start_container(&mut self, attempt: &Attempt) -> Result<(), Error> {
        self.done(Request::StartContainer { attempt: attempt.clone() }).await.map(drop)
    }

    /// Executes a process with these stdin, stdout and stderr; or, with a terminal, returns that.
    pub async fn exec(
        &mut self,
        attempt: &Attempt,
        process: Process,
        stdio: &[BorrowedFd<'_>],
    ) -> Result<Executed, Error> {
        let request = Request::Exec { attempt: attempt.clone(), process: Box::new(process) };
        let mut message = self.call(request, stdio).await?;
        match message.body {
            Answer::Executed { exec, pid } => Ok(Executed { exec, pid, terminal: message.descriptors.pop() }),
            _ => Err(Error::Answer),
        }
    }

    /// Waits for the end of an executed process.
    pub async fn wait_exec(&mut self, exec: u64) -> Result<Status, Error> {
        match self.call(Request::WaitExec { exec }, &[]).await?.body {
            Answer::ExecEnded { status } => Ok(status),
            _ => Err(Error::Answer),
        }
    }

    /// What there is now, or as soon as it is newer than revision `after`.
    pub async fn state(&mut self, after: Option<u64>) -> Result<State, Error> {
        match self.call(Request::State { after }, &[]).await?.body {
            Answer::State { state } => Ok(state),
            _ => Err(Error::Answer),
        }
    }

    /// Any request that is answered by its being done, with the descriptors that come with that.
    pub async fn done(&mut self, request: Request) -> Result<Vec<OwnedFd>, Error> {
        match self.call(request, &[]).await? {
            Message { body: Answer::Done, descriptors } => Ok(descriptors),
            _ => Err(Error::Answer),
        }
    }

    /// Asks and waits for the answer. Must not be given up half way: the connection would be out of step.
    pub async fn ask(&mut self, request: Request) -> Result<Answer, Error> {
        Ok(self.call(request, &[]).await?.body)
    }

    async fn call(
        &mut self,
        request: Request,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<Message<Answer>, Error> {
        self.send(&request, descriptors).await.map_err(Error::Lost)?;
        let message = self.receive().await.map_err(Error::Lost)?;
        match message.body {
            Answer::Failed { reason, message } => Err(Error::Failed { reason, message }),
            _ => Ok(message),
        }
    }

    async fn send(&mut self, request: &Request, mut descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let bytes = encode(request, descriptors.len())?;
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let sent = self
                .stream
                .async_io(Interest::WRITABLE, || send(self.stream.as_fd(), rest, descriptors))
                .await?;
            rest = &rest[sent..];
            descriptors = &[];
        }
        Ok(())
    }

    async fn receive(&mut self) -> io::Result<Message<Answer>> {
        loop {
            if let Some(message) = self.inbox.take()? {
                return Ok(message);
            }
            let (stream, inbox) = (&self.stream, &mut self.inbox);
            if !stream.async_io(Interest::READABLE, || inbox.receive(stream.as_fd())).await? {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// A process that was executed.
#[derive(Debug)]
pub struct Executed {
    pub exec: u64,
    pub pid: i32,
    /// To be read and written, and resized.
    pub terminal: Option<OwnedFd>,
}

/// The shim's stdin is its first connection: there is nothing to wait for and nothing to race with.
fn spawn(program: &Program, directory: &Directory) -> io::Result<StandardStream> {
    std::fs::create_dir_all(directory.root())?;
    let (ours, theirs) = StandardStream::pair()?;
    let log = File::options().append(true).create(true).open(directory.log())?;
    let status = Command::new(&program.path)
        .args(&program.arguments)
        .arg(directory.root())
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(log.try_clone()?)
        .stderr(log)
        .status()?;
    // It has left a child behind that has no parent.
    if status.success() { Ok(ours) } else { Err(io::Error::other(format!("it ended with {status}"))) }
}

/// A path can be longer than an address may be; one through a descriptor is not.
fn connect(path: &Path) -> io::Result<StandardStream> {
    let (parent, name) = path.parent().zip(path.file_name()).ok_or(ErrorKind::InvalidInput)?;
    let parent = File::open(parent)?;
    let short = Path::new("/proc/self/fd").join(parent.as_raw_fd().to_string()).join(name);
    StandardStream::connect(short)
}
