//! What a daemon and a shim say to each other: one request, one answer, in frames of JSON. Descriptors travel beside them;
//! what containers read and write never does.

mod frame;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::cgroups::Usage;
use super::plan::{ContainerPlan, Process, SandboxPlan};

pub(super) use frame::{Inbox, Message, encode, send, send_whole};

/// One attempt at one container, counted from 0 as Kubernetes counts restarts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Attempt {
    pub container: String,
    pub number: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "request", deny_unknown_fields)]
pub enum Request {
    /// Comes first.
    Hello {
        version: u32,
    },
    /// Makes the Pod's namespaces. Done before, it answers the same. With it comes the network namespace.
    CreateSandbox {
        plan: Box<SandboxPlan>,
    },
    /// Answered with the Pod's network namespace, if it has one of its own.
    Network,
    /// Builds a container up to the point where its program would start.
    CreateContainer {
        attempt: Attempt,
        plan: Box<ContainerPlan>,
    },
    StartContainer {
        attempt: Attempt,
    },
    /// To the first process alone.
    Signal {
        attempt: Attempt,
        signal: i32,
    },
    /// Ends every process of the container.
    Kill {
        attempt: Attempt,
    },
    /// With it come stdin, stdout and stderr, unless there is a terminal: then its descriptor comes with the answer.
    Exec {
        attempt: Attempt,
        process: Box<Process>,
    },
    /// To a process that was executed.
    SignalExec {
        exec: u64,
        signal: i32,
    },
    /// Answered when the process has ended, and forgotten then.
    WaitExec {
        exec: u64,
    },
    /// Of the terminal of a container.
    Resize {
        attempt: Attempt,
        rows: u16,
        columns: u16,
    },
    /// With the answer come, in this order: stdin if it was asked for, stdout, stderr. With a terminal, stdin is the terminal
    /// itself, to be written to only, and there is no stderr.
    Attach {
        attempt: Attempt,
        stdin: bool,
    },
    /// Answered when there is something newer than revision `after`; at once without one.
    State {
        after: Option<u64>,
    },
    /// Stops all processes of a container, or of the Pod, where they are.
    Freeze {
        attempt: Option<Attempt>,
    },
    Thaw {
        attempt: Option<Attempt>,
    },
    Usage,
    /// Of an attempt that has ended: its cgroup and directory go, its log stays.
    RemoveContainer {
        attempt: Attempt,
    },
    /// Ends everything that runs here, and the shim.
    Shutdown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "answer", deny_unknown_fields)]
pub enum Answer {
    Done,
    Hello { version: u32, pid: i32 },
    Created { pid: i32 },
    Executed { exec: u64, pid: i32 },
    ExecEnded { status: Status },
    State { state: State },
    Usage { pod: Usage, containers: Vec<(Attempt, Usage)> },
    Failed { reason: Reason, message: String },
}

/// What kind of failure it was, for those who decide by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reason {
    /// The request does not fit what there is.
    Refused,
    /// A layer of isolation, a mount or a limit could not be put in place.
    Setup,
    /// The program could not be executed.
    Program,
    Internal,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct State {
    pub revision: u64,
    pub sandbox: bool,
    pub containers: Vec<ContainerState>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContainerState {
    pub attempt: Attempt,
    pub phase: Phase,
    pub pid: Option<i32>,
    pub frozen: bool,
    /// Bytes of output that could not be written to the log.
    pub lost_output: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    Building,
    Created,
    #[serde(rename_all = "camelCase")]
    Running {
        started_at: Timestamp,
    },
    Exited(Exit),
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    Code(i32),
    Signal(i32),
}

impl Status {
    /// As shells and Kubernetes count it.
    pub fn code(self) -> i32 {
        match self {
            Status::Code(code) => code,
            Status::Signal(signal) => 128 + signal,
        }
    }
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Exit {
    pub status: Status,
    /// The kernel killed a process of it for want of memory.
    pub oom_killed: bool,
    /// None if it never ran.
    pub started_at: Option<Timestamp>,
    pub finished_at: Timestamp,
    /// Its last words, at most 4096 bytes of them.
    pub message: String,
    /// Why it did not start.
    pub failure: Option<String>,
}
