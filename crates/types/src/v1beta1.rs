//! Version v1beta1: what is stored, and what the operator works on.

mod sandbox;
mod sandbox_claim;
mod sandbox_template;
mod sandbox_warm_pool;

pub use sandbox::{OperatingMode, Sandbox, SandboxSpec, SandboxStatus};
pub use sandbox_claim::{ClaimedSandbox, SandboxClaim, SandboxClaimSpec, SandboxClaimStatus, WarmPoolRef};
pub use sandbox_template::{SandboxTemplate, SandboxTemplateSpec, SandboxTemplateStatus};
pub(crate) use sandbox_warm_pool::SIZES_IN_ORDER;
pub use sandbox_warm_pool::{
    SandboxTemplateRef, SandboxWarmPool, SandboxWarmPoolSpec, SandboxWarmPoolStatus, UpdateStrategy,
    UpdateStrategyType,
};

pub const VERSION: &str = "v1beta1";
