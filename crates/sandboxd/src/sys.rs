//! Where sandboxd talks to the kernel between `fork` and `exec`, or promises something about descriptors. The only place for
//! `unsafe`.

pub(crate) mod readiness;
pub(crate) mod spawn;
