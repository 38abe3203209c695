//! Containers run by an OCI runtime program, such as gVisor's. It isolates in its own way and with the ids of the machine,
//! so nothing is mapped for it; the Pod's cgroups, network, log and exit codes are as with the runtime of our own.
//!
//! The fork that builds such a container becomes the runtime itself, in the foreground, with the container's streams: it
//! passes signals on and ends with the container's exit code, whichever runtime it is.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::setsid;
use serde_json::{Value, json};

use super::directory::Directory;
use super::plan::{Process, Rlimit, Runtime, SandboxPlan};
use super::protocol::{Attempt, Reason};
use super::report::Failure;
use super::{capabilities, terminal};
use crate::sys::processes as sys;

/// A runtime program, and where it keeps its state of this Pod.
pub(super) struct Program<'a> {
    binary: &'a Path,
    arguments: &'a [String],
    state: PathBuf,
    /// Some runtimes keep names for the whole machine.
    pod: &'a str,
}

impl<'a> Program<'a> {
    /// None for our own.
    pub(super) fn of(plan: &'a SandboxPlan, directory: &Directory) -> Option<Self> {
        match &plan.runtime {
            Runtime::Builtin => None,
            Runtime::Oci { binary, arguments } => {
                Some(Self { binary, arguments, state: directory.root().join("runtime"), pod: &plan.uid })
            }
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.binary);
        command
            .arg("--root")
            .arg(&self.state)
            .args(self.arguments)
            .env_clear()
            .env("PATH", PATH)
            .current_dir("/");
        command
    }

    /// Becomes the runtime that runs the container of this bundle. Returns only if that fails.
    pub(super) fn run(&self, attempt: &Attempt, bundle: &Path) -> Failure {
        let error = self.command().arg("run").arg("--bundle").arg(bundle).arg(self.id(attempt)).exec();
        self.failure(&error)
    }

    /// Becomes the runtime that executes one more process.
    pub(super) fn exec(&self, attempt: &Attempt, process: &Path) -> Failure {
        let error = self.command().arg("exec").arg("--process").arg(process).arg(self.id(attempt)).exec();
        self.failure(&error)
    }

    /// Waits until the runtime says that the container runs: its own first process is there before that. Not for ever, and not
    /// for one that has ended.
    pub(super) fn await_running(&self, attempt: &Attempt, init: BorrowedFd<'_>) {
        let mut first = [PollFd::from_borrowed_fd(init, PollFlags::IN)];
        for _ in 0..LOOKS {
            if self.is_running(attempt) || poll(&mut first, Some(&PAUSE)).is_ok_and(|ended| ended > 0) {
                return;
            }
        }
    }

    fn is_running(&self, attempt: &Attempt) -> bool {
        let mut asked = self.command();
        let said =
            asked.arg("state").arg(self.id(attempt)).stdin(Stdio::null()).stderr(Stdio::null()).output();
        let state = said.ok().and_then(|said| serde_json::from_slice::<Value>(&said.stdout).ok());
        state.is_some_and(|state| state["status"] == "running")
    }

    /// Forgets the container, and ends what is left of it. That there is none is what we want.
    pub(super) fn delete(&self, attempt: &Attempt) -> io::Result<()> {
        let mut asked = self.command();
        asked.args(["delete", "--force"]).arg(self.id(attempt)).stdout(Stdio::null()).stderr(Stdio::null());
        match asked.status() {
            // A runtime that is not there has run nothing.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.map(drop),
        }
    }

    fn id(&self, attempt: &Attempt) -> String {
        format!("{}-{}-{}", self.pod, attempt.container, attempt.number)
    }

    fn failure(&self, error: &io::Error) -> Failure {
        let message = format!("cannot execute the runtime {}: {error}", self.binary.display());
        Failure { reason: Reason::Setup, message }
    }
}

/// How often, and after which pauses, a container is looked at that has been started and does not run yet.
const LOOKS: u32 = 200;
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Runtimes look for helpers of their own.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A process in the words of the specification.
pub(super) fn process(process: &Process) -> Value {
    let named: Vec<String> = process.capabilities.iter().map(|name| capabilities::full_name(name)).collect();
    json!({
        "terminal": process.tty,
        "user": { "uid": process.user.uid, "gid": process.user.gid, "additionalGids": process.user.groups },
        "args": process.args,
        "env": process.env,
        "cwd": process.cwd,
        "noNewPrivileges": process.no_new_privileges,
        "rlimits": rlimits(&process.rlimits),
        "capabilities": { "bounding": named, "effective": named, "permitted": named },
    })
}

/// By name; numbers beyond the list are no limits of Linux.
fn rlimits(limits: &[Rlimit]) -> Vec<Value> {
    const NAMES: [&str; 16] = [
        "CPU",
        "FSIZE",
        "DATA",
        "STACK",
        "CORE",
        "RSS",
        "NPROC",
        "NOFILE",
        "MEMLOCK",
        "AS",
        "LOCKS",
        "SIGPENDING",
        "MSGQUEUE",
        "NICE",
        "RTPRIO",
        "RTTIME",
    ];
    let named = |limit: &Rlimit| {
        let name = NAMES.get(usize::try_from(limit.resource).ok()?)?;
        Some(json!({ "type": format!("RLIMIT_{name}"), "soft": limit.soft, "hard": limit.hard }))
    };
    limits.iter().filter_map(named).collect()
}

/// Connects this process as the runtime finds it, and as the container will.
pub(super) fn connect(
    stdio: Option<&[OwnedFd; 3]>,
    tell: impl FnOnce(&OwnedFd) -> io::Result<()>,
) -> io::Result<()> {
    setsid()?;
    let Some(stdio) = stdio else {
        let made = terminal::make()?;
        tell(&made.master)?;
        return terminal::adopt(&made.slave, 0);
    };
    stdio
        .iter()
        .zip(0..)
        .try_for_each(|(descriptor, number)| sys::install_descriptor(descriptor.as_fd(), number))
}

/// Writes down a process for the runtime to read.
pub(super) fn write_process(place: &Path, asked: &Process) -> io::Result<()> {
    fs::write(place, process(asked).to_string())
}
