//! SDKs and tools against `asb up` with its operator, its router and its node, and against a Kubernetes with ours: those that people
//! already use, unmodified, and our own. Every public method of theirs is called over at least one connection; one that is not fails the suite.

mod cluster;
mod gateway;
mod go;
mod opensandbox;
mod own;
mod printed;
mod python;
mod rights;
mod stage;
