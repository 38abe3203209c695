//! The duties of a node beside running containers, against the embedded API server in this process.

mod claims;
mod cluster;
mod presence;
mod scheduling;
