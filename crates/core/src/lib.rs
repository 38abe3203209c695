//! Every decision of Agent Sandbox: what an object needs next, given what was observed and the time.
//!
//! Everything here is pure, total and deterministic: no clock, no randomness, no API server. Time, ids and chance are
//! arguments. Watching objects and carrying out what is decided here is left to `operator`.

pub mod allocation;
pub mod blueprint;
mod canonical;
pub mod census;
pub mod claim;
pub mod collision;
pub mod conditions;
pub mod document;
pub mod event;
pub mod lease;
pub mod network;
pub mod object;
pub mod patch;
pub mod pod;
pub mod pool;
mod propagated;
pub mod report;
pub mod rotation;
pub mod route;
pub mod sandbox;
pub mod shorthand;
pub mod task;
pub mod template;
pub mod views;
pub mod write;
