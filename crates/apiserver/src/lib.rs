//! The embedded Kubernetes API: generic over kinds, driven by schemas, kept in one file.
//! Knows nothing of operators or nodes; those talk to it as they talk to any API server.

pub mod admission;
pub mod apply;
pub mod decode;
pub mod defaults;
pub mod definition;
pub mod field;
pub mod identity;
pub mod patch;
pub mod schema;
pub mod security;
pub mod status;
pub mod store;
pub mod strategy;
pub mod streaming;
pub mod table;
pub mod validation;
