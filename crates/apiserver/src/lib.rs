//! The embedded Kubernetes API. Today: its streaming transports. What runs in Pods is the node's business, reached
//! through a trait.

pub mod streaming;
