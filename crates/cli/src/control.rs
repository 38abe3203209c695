//! How other processes of this machine talk to the daemon about the machine itself, which is no matter of the Kubernetes API:
//! a socket in the data directory that only its owner can open. One line of JSON asks; lines of JSON tell how it goes, and the
//! last one how it went. A connection is for one request.

mod client;
mod protocol;
mod server;

pub(crate) use client::{Connection, PATIENCE, halt, hello};
pub(crate) use protocol::{Hello, Reply, Request};
pub(crate) use server::{Control, Entry};

/// Inside the data directory.
const SOCKET: &str = "asb.sock";
