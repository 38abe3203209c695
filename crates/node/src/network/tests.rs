//! Real Pods' namespaces on a host of the test's own: a network namespace in which nothing of this machine is.

mod life;
pub(crate) mod names;
mod policies;
mod reach;
pub(crate) mod rig;
mod services;
