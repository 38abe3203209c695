//! Tokens that let their bearer into one Sandbox until a time: made with a secret that router and maker share (`v1`), or
//! with a private key of which the router knows the public half (`v2`). And what the router shows to the runtime inside.

mod key;
mod runtime;
mod scoped;

pub use key::{PrivateKey, PublicKey, Secret};
pub(crate) use runtime::LIFETIME;
pub use runtime::for_runtime;
pub use scoped::{Keys, Scope, Untrusted};

/// Why a key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadKey {
    #[error("a secret has at least 32 bytes")]
    TooShort,
    #[error("it is no Ed25519 key as PKCS#8 in base64 or PEM")]
    NotPrivate,
    #[error("it is no Ed25519 public key of 32 bytes in base64")]
    NotPublic,
}
