//! What the suites stand on: the Kubernetes they run against, and waiting without sleeping. Holds no tests of the
//! product; those are in `suites/`.

pub mod cluster;
pub mod wait;
