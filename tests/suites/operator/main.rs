//! The operator on a Kubernetes API, with a kubelet that runs nothing: what becomes of Sandboxes, claims, templates and
//! pools, and what their users see. The same on the embedded API server and on the original.

mod claims;
mod expiry;
mod pools;
mod sandboxes;
mod stage;
mod templates;
