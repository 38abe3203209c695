//! SandboxTemplate, SandboxClaim and SandboxWarmPool in short spellings, as much that is written about Agent Sandbox prints
//! them: in the group of Sandbox, and with fields that the kinds of these names never had. They are served in one version
//! and stand for objects of [`EXTENSIONS_GROUP`](crate::EXTENSIONS_GROUP); how is decided in `core`.

mod inline;
mod sandbox_claim;
mod sandbox_template;
mod sandbox_warm_pool;

pub use inline::{Blueprint, InlineTemplate};
pub use sandbox_claim::{SandboxClaim, SandboxClaimSpec, SandboxClaimStatus};
pub use sandbox_template::{SandboxTemplate, SandboxTemplateSpec, SandboxTemplateStatus};
pub use sandbox_warm_pool::{SandboxWarmPool, SandboxWarmPoolSpec, SandboxWarmPoolStatus};

pub const VERSION: &str = "v1alpha1";
