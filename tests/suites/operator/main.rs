//! The operator on a Kubernetes API: what becomes of Sandboxes, claims, templates and pools, and what their users see. The
//! same on the embedded API server and on the original with a kubelet that runs nothing, and with the containers of a node.

mod alpha;
mod budget;
mod claims;
mod clock;
mod collisions;
mod crowds;
mod expiry;
mod finished;
mod handover;
mod metrics;
mod mistakes;
mod pools;
mod retention;
mod roles;
mod rollouts;
mod sandboxes;
mod scopes;
mod sizing;
mod stage;
mod stories;
mod suspension;
mod takeover;
mod templates;
mod volume_policies;
