//! Pods' namespaces on a host of the test's own, with an API server and all that keeps them connected.

mod life;
mod policies;
mod world;
