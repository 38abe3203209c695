//! Pods on the node of `asb up`, for the suites that look at them from inside and from outside.

pub mod spec;
pub mod stage;
