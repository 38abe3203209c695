//! Runs Pods on this machine, as a kubelet and a container runtime do together.

pub mod blueprint;
pub mod cache;
pub mod carried;
pub mod claims;
pub mod connectivity;
pub mod doctor;
pub mod driver;
mod error;
pub mod events;
pub mod fsck;
pub mod halt;
pub mod identity;
pub mod images;
pub mod neighbours;
pub mod network;
pub mod node;
pub mod presence;
mod quantity;
pub mod runtimes;
pub mod scheduling;
pub mod settings;
pub mod shim;
pub mod streams;
pub mod sys;
pub mod trash;
pub mod volumes;
