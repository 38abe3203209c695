//! Volumes of Pods on disk: made, filled, kept up to date, measured and removed.
//!
//! ```text
//! pods/<uid>/volumes/<name>      for as long as the Pod lives: empty directories, and files that follow objects
//! pods/<uid>/etc                the Pod's own hosts, hostname and resolv.conf
//! volumes/<pv>/data              persistent, with
//!             /record.json       whose it is and how large it may grow
//! ```
//! The directories above are closed to everyone but root, because files in volumes carry the container's ids as they are: its
//! root's programs with the set-user-id bit would be our root's.
//!
//! Everything can be done again after a crash at any point, and removed without knowing how far it came.

pub mod claim;
mod durable;
pub mod empty;
mod error;
#[cfg(test)]
mod fixtures;
pub mod host_path;
pub mod layout;
pub mod names;
pub mod ownership;
pub mod payload;
pub mod places;
pub mod pod_files;
pub mod provisioner;
pub mod quota;
pub mod refresh;
pub mod removal;
pub mod sub_path;
pub mod token;
mod tree;
pub mod usage;
pub mod writer;

pub use error::Error;
pub use layout::Layout;
