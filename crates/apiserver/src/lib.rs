//! The embedded Kubernetes API: generic over kinds, driven by schemas, kept in one file.
//! Knows nothing of operators or nodes; those talk to it as they talk to any API server.

pub mod admission;
pub mod api;
pub mod apply;
mod controllers;
pub mod decode;
pub mod defaults;
pub mod definition;
pub mod deletion;
pub mod discovery;
pub mod field;
mod go;
pub mod identity;
mod names;
pub mod negotiation;
pub mod object;
pub mod openapi;
pub mod options;
pub mod patch;
pub mod path;
mod pointer;
pub mod registry;
pub mod resource;
mod rules;
pub mod schema;
pub mod security;
pub mod selector;
pub mod server;
pub mod status;
pub mod store;
pub mod strategy;
pub mod streaming;
pub mod table;
pub mod text;
pub mod validation;

/// The version of Kubernetes whose API is served, and whose definitions are vendored.
pub const KUBERNETES_VERSION: &str = "1.36.3";
