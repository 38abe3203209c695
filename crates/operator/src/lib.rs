//! The operator: keeps Sandboxes, claims, templates and pools as their users asked, on any Kubernetes API.
//!
//! It watches, lets `core` decide, and carries that out; it decides nothing itself. It cannot tell the embedded API server
//! from a real one.

mod cache;
mod caches;
mod clock;
mod leadership;
mod queue;
mod traffic;
mod watches;
mod workers;
mod world;
mod writer;

pub use clock::{Clock, Dice, SystemClock};
pub use leadership::{Candidacy, LEASE};
pub use queue::Next;
pub use watches::ChildScope;
