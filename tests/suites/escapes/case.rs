//! What a case is: a hole that was published, the layers that close it here, and the attack.

use std::pin::Pin;

use anyhow::Result;

use crate::ground::Ground;

pub(crate) struct Case {
    /// What holds.
    pub(crate) name: &'static str,
    /// Where the attack comes from: the numbers of published holes, or the sort of them.
    pub(crate) hole: &'static str,
    /// What stops it.
    pub(crate) layers: &'static [Layer],
    pub(crate) attack: Attack,
    /// Where the very same attack succeeds.
    pub(crate) without: Option<Without>,
}

/// As the document on security lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    Users,
    Namespaces,
    Files,
    SystemCalls,
    Rights,
    Limits,
    Network,
    Volumes,
    Api,
    Client,
}

impl Layer {
    pub(crate) const ALL: [Self; 10] = [
        Self::Users,
        Self::Namespaces,
        Self::Files,
        Self::SystemCalls,
        Self::Rights,
        Self::Limits,
        Self::Network,
        Self::Volumes,
        Self::Api,
        Self::Client,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Users => "users",
            Self::Namespaces => "namespaces",
            Self::Files => "files",
            Self::SystemCalls => "system calls",
            Self::Rights => "rights",
            Self::Limits => "limits",
            Self::Network => "network",
            Self::Volumes => "volumes",
            Self::Api => "API",
            Self::Client => "client",
        }
    }
}

/// An attack with its stage.
pub(crate) type Play = fn(Ground) -> Pin<Box<dyn Future<Output = Result<Outcome>>>>;

pub(crate) enum Attack {
    /// A program in Python, after `prelude.py`, which says whether it held or escaped. It is run as everything that runs in
    /// a container: its first process, a hook, a probe and a command.
    Program(&'static str),
    /// What takes more than one program, or is seen by somebody outside.
    Staged(Play),
}

/// How the layer is taken away.
pub(crate) enum Without {
    /// By these fields of the container.
    Container(&'static str),
    /// By these fields of the Pod.
    Pod(&'static str),
    /// There is no sandbox at all: root of the machine, in a directory and a mount namespace of its own.
    Machine,
    /// The attack knows; in words.
    Otherwise(&'static str),
}

pub(crate) enum Outcome {
    Held(String),
    Escaped(String),
}

impl Outcome {
    /// What escaped, if anything did.
    pub(crate) fn of(escaped: Option<String>) -> Self {
        escaped.map_or_else(|| Self::Held(String::new()), Self::Escaped)
    }

    pub(crate) fn escaped_if(escaped: bool, told: impl Into<String>) -> Self {
        if escaped { Self::Escaped(told.into()) } else { Self::Held(told.into()) }
    }
}

pub(crate) const fn case(
    name: &'static str,
    hole: &'static str,
    layers: &'static [Layer],
    attack: Attack,
) -> Case {
    Case { name, hole, layers, attack, without: None }
}

impl Case {
    pub(crate) const fn without(self, without: Without) -> Self {
        Self { without: Some(without), ..self }
    }
}

/// No filter of system calls.
pub(crate) const UNCONFINED: Without =
    Without::Container(r#"{"securityContext": {"seccompProfile": {"type": "Unconfined"}}}"#);
pub(crate) const PRIVILEGED: Without = Without::Container(r#"{"securityContext": {"privileged": true}}"#);
/// Nothing of the kernel's files is hidden.
pub(crate) const UNMASKED: Without = Without::Container(r#"{"securityContext": {"procMount": "Unmasked"}}"#);
pub(crate) const HOST_NETWORK: Without = Without::Pod(r#"{"hostNetwork": true}"#);
