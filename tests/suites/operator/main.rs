//! The operator on a Kubernetes API, with a kubelet that runs nothing: what becomes of Sandboxes, claims, templates and
//! pools, and what their users see. The same on the embedded API server and on the original.

mod alpha;
mod budget;
mod claims;
mod clock;
mod collisions;
mod crowds;
mod expiry;
mod finished;
mod handover;
mod ledger;
mod metrics;
mod mistakes;
mod pools;
mod retention;
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
