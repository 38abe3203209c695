//! Programs on the client libraries of Go, Python and Rust, doing with objects what controllers and SDKs do. The first two
//! run on whichever Kubernetes is there, and are in `tests/clients`; the last is on a server in this process.

mod contract;
mod controllers;
mod programs;
mod server;
