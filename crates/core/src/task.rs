//! Coding tasks: in which order they are begun, where each goes from what became of its last phase, and what may leave.
//!
//! Running commands, git and models is left to `tasks`.

pub mod branch;
pub mod clock;
pub mod delivery;
pub mod machine;
pub mod message;
pub mod paths;
pub mod queue;
pub mod repo;
pub mod secrets;
