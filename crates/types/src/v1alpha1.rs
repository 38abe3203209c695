//! Version v1alpha1: served for clients that still speak it, deprecated, never stored.

mod sandbox;
mod sandbox_claim;
mod sandbox_template;
mod sandbox_warm_pool;

pub use sandbox::{Sandbox, SandboxSpec, SandboxStatus};
pub use sandbox_claim::{SandboxClaim, SandboxClaimSpec, WARM_POOL_DEFAULT, WARM_POOL_NONE};
pub use sandbox_template::{SandboxTemplate, SandboxTemplateSpec};
pub use sandbox_warm_pool::{SandboxWarmPool, SandboxWarmPoolSpec, SandboxWarmPoolStatus};

pub const VERSION: &str = "v1alpha1";
