//! A router between real clients and real servers, and the API server that tells it where Sandboxes are.

mod backend;
mod entry;
mod faults;
mod protocols;
mod tunnels;
mod world;
