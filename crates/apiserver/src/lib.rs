//! The embedded Kubernetes API: generic over kinds, driven by schemas, kept in one file.
//! Knows nothing of operators or nodes; those talk to it as they talk to any API server.

pub mod store;
pub mod streaming;
