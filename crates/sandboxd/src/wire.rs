//! What is said to the program inside a sandbox and what it answers, as types. Three contracts: [`legacy`] is that of upstream's
//! Python runtime, [`files`] and [`grpc`] that of its sandboxd, [`processes`] and [`watch`] are ours.

pub mod files;
pub mod grpc;
pub mod legacy;
pub mod processes;
pub mod watch;
