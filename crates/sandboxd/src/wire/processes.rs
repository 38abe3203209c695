//! Processes over HTTP, below `/v1/processes`: ours, and what we recommend. JSON, with names in camelCase.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The body of `POST /v1/processes`. Exactly one of `command` and `shell` is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartProcess {
    /// The program, found by `PATH`, and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// For `/bin/sh -c`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Added to what sandboxd itself was given, and before it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Below the root directory, which it is when nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A terminal of this size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pty: Option<TerminalSize>,
    /// Whether there will be input. Otherwise it is empty. A terminal always has some.
    #[serde(default)]
    pub stdin: bool,
    /// A name for finding it again; it need not be unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    #[serde(default)]
    pub on_disconnect: OnDisconnect,
    #[serde(default)]
    pub on_overflow: OnOverflow,
    /// After so long its process group is killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TerminalSize {
    pub cols: u16,
    pub rows: u16,
}

/// What becomes of a process when the last of those who follow or attach to it has gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDisconnect {
    #[default]
    Keep,
    Kill,
}

/// What becomes of output that nobody has read when there is no room for more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnOverflow {
    /// The oldest goes, and whoever asks for it is told.
    #[default]
    Drop,
    /// None of it goes: the process waits for its reader, as at a pipe.
    Wait,
}

/// A process, as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Process {
    /// By which it is addressed; counts from 1.
    pub id: u32,
    /// What the kernel calls it, in the sandbox.
    pub pid: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    pub command: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pty: Option<TerminalSize>,
    /// Whether it still takes input.
    pub stdin: bool,
    pub on_disconnect: OnDisconnect,
    #[serde(default)]
    pub on_overflow: OnOverflow,
    pub state: State,
    /// RFC 3339, in UTC.
    pub started_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    pub output: OutputKept,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Running,
    Exited,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exit {
    /// For a signal, 128 and its number.
    pub code: i32,
    /// Which signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// It was killed because it took longer than it was given.
    #[serde(default)]
    pub timed_out: bool,
}

/// Which bytes of the output can still be had. Both streams count together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputKept {
    pub from: u64,
    pub to: u64,
}

/// The answer to `GET /v1/processes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessList {
    pub processes: Vec<Process>,
}

/// The body of `POST /v1/processes/{id}/signal`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendSignal {
    pub signal: SignalName,
}

/// The answer to `POST /v1/processes/{id}/stdin?partial=true`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// How many bytes of the body it took. Less than all means that its output is to be read first.
    pub taken: u64,
}

/// `"SIGTERM"`, `"TERM"` or `15`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SignalName {
    Number(i32),
    Name(String),
}

/// Where bytes came from. A terminal has one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    Stdout,
    Stderr,
    Pty,
}

/// The header of raw output that says at which offset it begins.
pub const OUTPUT_FROM: &str = "x-sandboxd-output-from";

/// A line of `GET /v1/processes/{id}/output`, and a text message of `/attach`, where data is in binary messages instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Line {
    /// Output, in base64.
    Data { offset: u64, stream: Stream, base64: String },
    /// What the reader was too late or too slow for.
    Lost { from: u64, to: u64 },
    /// There is no more output, and none will come.
    Exit(Exit),
}

/// What a client says by a text message of `/attach`; input is in binary messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Order {
    Resize(TerminalSize),
    Signal(SignalName),
    /// With a terminal this types the character that ends input.
    CloseStdin {},
}

/// The first byte of a binary message to a client of `/attach`. Eight bytes of offset, big-endian, and the data follow.
pub fn stream_byte(stream: Stream) -> u8 {
    match stream {
        Stream::Stdout => 1,
        Stream::Stderr => 2,
        Stream::Pty => 3,
    }
}
