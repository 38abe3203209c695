//! What is known on this machine of one Pod: its volumes, its sandbox, and every container with its attempts. Whoever
//! carries out a plan writes down what it begins before it begins, so that nothing is begun twice; it is kept on disk so.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::backoff::Backoff;
use super::probe::{ProbeKind, Record, Verdict};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Observed {
    pub volumes: Volumes,
    pub sandbox: Option<Sandbox>,
    /// By name. A container of which nothing is known may be missing.
    pub containers: BTreeMap<String, Container>,
    /// Set once; from then on nothing is started any more.
    pub ending: Option<Ending>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Volumes {
    #[default]
    Absent,
    Preparing,
    Ready,
    Failed(Failure),
    Releasing,
}

/// Something that did not work and is tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    pub at: Timestamp,
    /// How many times in a row, from one.
    pub times: u32,
    pub message: String,
}

/// The Pod's namespaces and addresses. Its number counts how many there have been, from zero.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sandbox {
    pub attempt: u32,
    pub state: SandboxState,
    /// The primary one first.
    pub addresses: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SandboxState {
    Creating,
    Ready,
    /// It could not be made; nothing of it is left.
    Failed(Failure),
    /// What held it together is gone, and so are its processes; it has yet to be cleared away.
    Dead,
    Removing,
    Gone,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    pub image: Image,
    /// Why it could not be created the last time.
    pub trouble: Option<Trouble>,
    /// The newest attempt.
    pub current: Option<Attempt>,
    /// How the one before it ended.
    pub last: Option<Exit>,
    /// Older attempts that still take room.
    pub leftover: Vec<u32>,
    pub backoff: Option<Backoff>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Image {
    #[default]
    Unknown,
    /// It is looked for.
    Preparing,
    /// It comes from a registry.
    Pulling,
    /// Made sure of for an attempt.
    Ready {
        id: String,
        attempt: u32,
        pulled: Option<Pulled>,
    },
    Failed(PullFailure),
}

/// How an image came here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pulled {
    pub took: Duration,
    /// The same with the time it had to wait for other pulls.
    pub took_with_waiting: Duration,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PullFailure {
    pub at: Timestamp,
    pub reason: PullReason,
    pub message: String,
    pub backoff: Backoff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PullReason {
    /// The registry did not give it.
    Pull,
    /// It is not here and must not be pulled.
    Never,
    /// No image can be called that.
    Name,
}

/// A container that could not be created, before there was an attempt to speak of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trouble {
    pub at: Timestamp,
    pub reason: TroubleReason,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TroubleReason {
    /// What it is made of is missing or contradicts itself, such as the key of a ConfigMap.
    Configuration,
    Creation,
    Run,
}

impl TroubleReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "CreateContainerConfigError",
            Self::Creation => "CreateContainerError",
            Self::Run => "RunContainerError",
        }
    }
}

/// One run of a container, from its creation to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// From zero: how often the container was restarted.
    pub number: u32,
    /// Which sandbox it is in.
    pub sandbox: u32,
    pub id: String,
    pub state: State,
    pub post_start: Hook,
    pub stop: Option<Stop>,
    pub probes: BTreeMap<ProbeKind, Record>,
    /// The probes that are being made.
    pub probing: BTreeSet<ProbeKind>,
    /// Who it runs as, once that is known.
    pub user: Option<User>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct User {
    pub uid: i64,
    pub gid: i64,
    pub groups: Vec<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    Creating,
    Running { since: Timestamp },
    Exited(Exit),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exit {
    pub id: String,
    pub code: i32,
    pub signal: Option<i32>,
    pub reason: ExitReason,
    /// The termination message.
    pub message: String,
    /// Unknown for one that never ran.
    pub started: Option<Timestamp>,
    pub finished: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExitReason {
    /// By itself, or by a signal: Completed with zero, else Error.
    Ended,
    OutOfMemory,
    /// Its program could not be executed.
    CannotRun,
    /// It could not be started.
    StartError,
    /// It was lost sight of, with the machine or with its sandbox.
    Lost,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Hook {
    #[default]
    Waiting,
    Running,
    Done,
    Failed(String),
}

/// A container that is being stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    pub cause: StopCause,
    pub begun: Timestamp,
    pub grace: Duration,
    pub pre_stop: Hook,
    pub signalled: Option<Timestamp>,
    pub killed: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopCause {
    Liveness,
    Startup,
    PostStart,
    /// The whole Pod ends.
    Pod,
}

/// Why a Pod ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ending {
    pub cause: Cause,
    pub since: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cause {
    /// Its containers have ended and are not restarted.
    Completed,
    /// Somebody deleted it.
    Deleted,
    /// It ran longer than it may.
    DeadlineExceeded,
    /// This node does not run it.
    Refused { reason: String, message: String },
    /// The node wants it gone.
    Evicted { reason: String, message: String },
}

impl Stop {
    pub fn begin(cause: StopCause, grace: Duration, now: Timestamp) -> Self {
        Self { cause, begun: now, grace, pre_stop: Hook::Waiting, signalled: None, killed: None }
    }
}

impl Attempt {
    /// One that is about to be made.
    pub fn begin(number: u32, sandbox: u32, id: String) -> Self {
        Self {
            number,
            sandbox,
            id,
            state: State::Creating,
            post_start: Hook::Waiting,
            stop: None,
            probes: BTreeMap::new(),
            probing: BTreeSet::new(),
            user: None,
        }
    }

    /// Begun and not known to have ended.
    pub fn is_live(&self) -> bool {
        !matches!(self.state, State::Exited(_))
    }

    pub fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    pub fn exit(&self) -> Option<&Exit> {
        match &self.state {
            State::Exited(exit) => Some(exit),
            State::Creating | State::Running { .. } => None,
        }
    }

    pub fn verdict(&self, kind: ProbeKind) -> Verdict {
        self.probes.get(&kind).map_or(Verdict::Pending, |record| record.verdict)
    }
}

impl Exit {
    /// Of a container that was lost sight of.
    pub fn lost(id: String, started: Option<Timestamp>, now: Timestamp) -> Self {
        let message = "The container could not be located when the pod was terminated".to_owned();
        Self { id, code: 137, signal: None, reason: ExitReason::Lost, message, started, finished: now }
    }
}

impl Container {
    /// The attempt that is begun and not known to have ended.
    pub fn live(&self) -> Option<&Attempt> {
        self.current.as_ref().filter(|attempt| attempt.is_live())
    }
}

impl Observed {
    /// The container of a name, as it is known.
    pub fn container(&self, name: &str) -> Option<&Container> {
        self.containers.get(name)
    }

    pub fn attempt(&self, name: &str) -> Option<&Attempt> {
        self.container(name)?.current.as_ref()
    }

    /// Whether anything of it runs.
    pub fn is_live(&self) -> bool {
        self.containers.values().any(|container| container.live().is_some())
    }

    /// The sandbox that containers can be started in.
    pub fn ready_sandbox(&self) -> Option<u32> {
        let sandbox = self.sandbox.as_ref()?;
        (sandbox.state == SandboxState::Ready).then_some(sandbox.attempt)
    }
}
