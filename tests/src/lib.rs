//! What the suites stand on: the Kubernetes they run against, waiting without sleeping, and the
//! conversion webhook. Holds no tests of the product; those are in `suites/`.

pub mod account;
pub mod cluster;
pub mod conversion;
pub mod documents;
pub mod embedded;
pub mod helm;
pub mod installation;
pub mod ledger;
pub mod objects;
pub mod pods;
mod program;
#[cfg(test)]
mod proofs;
pub mod wait;
pub mod webhook;

pub use cluster::{Cluster, Namespace};
pub use program::{asb, program};
