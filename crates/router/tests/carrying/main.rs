//! A router between real clients and real servers, and the API server that tells it where Sandboxes are.

mod attacks;
mod backend;
mod control;
mod entry;
mod faults;
mod frames;
mod protocols;
mod raw;
mod tunnels;
mod witness;
mod world;
