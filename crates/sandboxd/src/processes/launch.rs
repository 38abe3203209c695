//! Starts a process with its streams or its terminal.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::tcsetwinsize;
use tokio::io::unix::AsyncFd;
use tokio::sync::Mutex;

use super::process::{Process, winsize};
use super::replay::Replay;
use crate::failure::{Code, Failure, reason};
use crate::sys::{readiness, spawn};
use crate::wire::processes::{OnDisconnect, OnOverflow, Stream, TerminalSize};

/// What to start. The directory is open already, so that it is the one that was checked.
pub(crate) struct Launch {
    pub(crate) command: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) directory: OwnedFd,
    pub(crate) terminal: Option<TerminalSize>,
    pub(crate) input: bool,
    pub(crate) tag: Option<String>,
    pub(crate) on_disconnect: OnDisconnect,
    pub(crate) on_overflow: OnOverflow,
    pub(crate) timeout: Option<Duration>,
}

/// The ends of its pipes, or its terminal.
struct Streams {
    input: Option<Rc<AsyncFd<OwnedFd>>>,
    terminal: Option<Rc<AsyncFd<OwnedFd>>>,
    outputs: Vec<Output>,
}

pub(super) type Output = (Stream, Rc<AsyncFd<OwnedFd>>);

impl Launch {
    pub(crate) fn new(command: Vec<String>, directory: OwnedFd) -> Self {
        Self {
            command,
            env: BTreeMap::new(),
            directory,
            terminal: None,
            input: false,
            tag: None,
            on_disconnect: OnDisconnect::Keep,
            on_overflow: OnOverflow::Drop,
            timeout: None,
        }
    }

    /// How many bytes of arguments and variables there are.
    pub(crate) fn size(&self) -> usize {
        let arguments: usize = self.command.iter().map(String::len).sum();
        arguments + self.env.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
    }

    pub(super) fn start(self, id: u32, capacity: usize) -> Result<(Rc<Process>, Vec<Output>), Failure> {
        let Some(program) = self.command.first().filter(|program| !program.is_empty()) else {
            return Err(Failure::invalid("there is no command"));
        };
        check_env(&self.env)?;
        let mut command = Command::new(program);
        command.args(&self.command[1..]).envs(&self.env);
        let (pid, streams) = match self.terminal {
            Some(size) => in_terminal(&mut command, self.directory, size),
            None => with_pipes(&mut command, self.directory, self.input),
        }
        .map_err(|error| failed(&error, program))?;
        let process = Process {
            id,
            pid,
            tag: self.tag,
            command: self.command,
            on_disconnect: self.on_disconnect,
            on_overflow: self.on_overflow,
            started: SystemTime::now(),
            replay: Replay::new(capacity).into(),
            changed: tokio::sync::Notify::new(),
            input: streams.input.into(),
            input_turn: Mutex::new(()),
            terminal: streams.terminal.into(),
            size: self.terminal.into(),
            ended: None.into(),
            timed_out: false.into(),
            finished: false.into(),
            hung_up: false.into(),
            taken: 0.into(),
            followers: 0.into(),
        };
        Ok((Rc::new(process), streams.outputs))
    }
}

/// The C library takes anything, and programs then read something else.
fn check_env(env: &BTreeMap<String, String>) -> Result<(), Failure> {
    let is_bad = |name: &str| name.is_empty() || name.contains(['=', '\0']);
    match env.iter().find(|(name, value)| is_bad(name) || value.contains('\0')) {
        Some((name, _)) => {
            Err(Failure::invalid(format!("{name:?} cannot be set as an environment variable")))
        }
        None => Ok(()),
    }
}

fn with_pipes(command: &mut Command, directory: OwnedFd, input: bool) -> io::Result<(Pid, Streams)> {
    command.stdin(if input { Stdio::piped() } else { nothing() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    spawn::own_session(command, directory, false);
    let mut child = command.spawn()?;
    // One that nobody asked for ends here.
    let pipe = child.stdin.take().filter(|_| input);
    let input = pipe.map(|pipe| open(pipe.into())).transpose()?;
    let output = child.stdout.take().map(|pipe| open(pipe.into())).transpose()?;
    let error = child.stderr.take().map(|pipe| open(pipe.into())).transpose()?;
    let outputs = output.map(|pipe| (Stream::Stdout, pipe)).into_iter();
    let outputs = outputs.chain(error.map(|pipe| (Stream::Stderr, pipe))).collect();
    Ok((Pid::from_child(&child), Streams { input, terminal: None, outputs }))
}

/// Programs tell /dev/null from a pipe that has ended; in an image without it, the latter has to do.
fn nothing() -> Stdio {
    File::open("/dev/null").map_or_else(|_| Stdio::piped(), Stdio::from)
}

fn in_terminal(command: &mut Command, directory: OwnedFd, size: TerminalSize) -> io::Result<(Pid, Streams)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    tcsetwinsize(&master, winsize(size))?;
    let user = ioctl_tiocgptpeer(&master, flags)?;
    command.stdin(user.try_clone()?).stdout(user.try_clone()?).stderr(user);
    if std::env::var_os("TERM").is_none() && !command.get_envs().any(|(name, _)| name == "TERM") {
        command.env("TERM", "xterm-256color");
    }
    spawn::own_session(command, directory, true);
    let child = command.spawn()?;
    let master = open(master)?;
    let outputs = vec![(Stream::Pty, master.clone())];
    Ok((Pid::from_child(&child), Streams { input: Some(master.clone()), terminal: Some(master), outputs }))
}

fn open(descriptor: OwnedFd) -> io::Result<Rc<AsyncFd<OwnedFd>>> {
    fcntl_setfl(&descriptor, fcntl_getfl(&descriptor)? | OFlags::NONBLOCK)?;
    readiness::watch(descriptor).map(Rc::new)
}

fn failed(error: &io::Error, program: &str) -> Failure {
    let (code, reason) = match Errno::from_io_error(error) {
        Some(errno @ (Errno::NOENT | Errno::NOTDIR)) => (Code::NotFound, reason(errno)),
        Some(errno @ (Errno::ACCESS | Errno::PERM)) => (Code::PermissionDenied, reason(errno)),
        Some(errno @ (Errno::TOOBIG | Errno::NOEXEC | Errno::NAMETOOLONG)) => {
            (Code::InvalidArgument, reason(errno))
        }
        Some(errno @ (Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE)) => {
            (Code::ResourceExhausted, reason(errno))
        }
        Some(errno) => (Code::Internal, reason(errno)),
        None => (Code::InvalidArgument, error.to_string()),
    };
    Failure::new(code, format!("starting {program}: {reason}"))
}
