//! The kinds of Agent Sandbox in every version they are served in: their fields, schemas and defaults, the
//! conversion between versions, the names, labels, annotations and hashes that tie objects together, and amounts of
//! resources.
//!
//! Everything here is pure. What to do about an object is decided in `core`; talking to an API server is left
//! to the adapters.

pub mod annotations;
pub mod blueprint;
pub mod conditions;
pub mod conversion;
pub mod crd;
pub mod deadline;
pub mod env;
pub mod hash;
pub mod labels;
pub mod launch;
pub mod lifecycle;
pub mod names;
pub mod network;
pub mod phase;
pub mod quantity;
pub mod rights;
pub mod runtime;
pub mod shorthand;
pub mod tasks;
pub mod v1alpha1;
pub mod v1beta1;

#[cfg(test)]
mod constants;

/// Group of the Sandbox kind, and prefix of every label and annotation that belongs to the system.
pub const GROUP: &str = "agents.x-k8s.io";

/// Group of the kinds built on top of Sandbox: SandboxTemplate, SandboxClaim and SandboxWarmPool.
pub const EXTENSIONS_GROUP: &str = "extensions.agents.x-k8s.io";

/// Go clients leave a status counter of 0 out, and so do we: "how many" and "not yet counted" look the same to them. The same
/// goes for what is not so unless somebody says it.
fn omit_zero<T: Default + PartialEq>(count: &T) -> bool {
    *count == T::default()
}
