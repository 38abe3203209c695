//! Where the node talks to the kernel and the C library without a crate in between. The only place for `unsafe`, one module per
//! subject.

pub mod memory;
pub(crate) mod processes;
pub(crate) mod quota;
pub(crate) mod readiness;
pub mod session;
