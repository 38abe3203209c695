//! What is known about a claim and its surroundings at one moment, and how well.

use asb_types::annotations;
use jiff::Timestamp;

use super::Launched;
use crate::views::{ClaimView, NetworkPolicyView, PoolView, SandboxView, TemplateView};

/// What is known about a claim at one moment.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    pub claim: &'a ClaimView,
    /// The Sandboxes whose controller is this claim, by UID.
    pub bound: &'a [&'a SandboxView],
    /// What bears the name in `status.sandbox`, where there is one.
    pub assigned: Sighting<'a>,
    /// What bears the name in the annotation (or, long ago, label) `sandbox-name`, where there is one.
    pub recorded: Sighting<'a>,
    /// The Sandbox that bears the claim's own name, whosever it is.
    pub namesake: Option<&'a SandboxView>,
    /// A Sandbox that the claim controls, or that bears its name, and that cannot be understood: its name, and why.
    pub broken: Option<(&'a str, &'a str)>,
    /// The pool in `spec.warmPoolRef`.
    pub pool: Referenced<'a, PoolView>,
    /// The template of that pool, or the one that the claim names itself.
    pub template: Referenced<'a, TemplateView>,
    /// The NetworkPolicy that old operators made for each claim.
    /// Why no Pod is to be made from the template: see [`exposure`](crate::template::exposure).
    pub exposure: Option<&'a str>,
    pub legacy_policy: Option<&'a NetworkPolicyView>,
    /// When the claim was first seen.
    pub first_observed: Timestamp,
    /// What was done to get its Sandbox, where that is still remembered.
    pub launched: Option<&'a Launched>,
    /// The trace that looks at the claim belong to, where it names none itself and somebody records them.
    pub trace: Option<&'a str>,
    pub settings: &'a Settings,
}

impl<'a> Observed<'a> {
    /// The trace that whatever is done for the claim belongs to.
    pub(super) fn trace(&self) -> Option<&'a str> {
        self.claim.metadata.annotation(annotations::TRACE_CONTEXT).or(self.trace)
    }
}

/// What is found under a name, and who says so.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sighting<'a> {
    pub sandbox: Option<&'a SandboxView>,
    pub source: Source,
}

/// Whether something is known for certain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// From a cache, which may lag behind.
    #[default]
    Cache,
    /// Read from the API server itself, a moment ago.
    Server,
}

/// An object that another one refers to.
#[derive(Clone, Debug, PartialEq)]
pub enum Referenced<'a, T> {
    Missing,
    /// It is there and cannot be understood.
    Unreadable(String),
    There(&'a T),
}

impl<'a, T> Referenced<'a, T> {
    pub(super) fn there(&self) -> Option<&'a T> {
        match self {
            Self::There(object) => Some(object),
            Self::Missing | Self::Unreadable(_) => None,
        }
    }
}

/// What the administrator has decided for all claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The domains whose labels claims may put on Pods.
    pub label_domains: Vec<String>,
    /// Whether claims are stamped with when they were first seen and first Ready.
    pub timestamps: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { label_domains: vec!["sandbox.users.io".to_owned()], timestamps: true }
    }
}
