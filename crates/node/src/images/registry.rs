//! Speaks with registries: where to look for an image, who we are, and one request at a time with patience. What an image
//! is and where it goes is `pull`'s business.
//!
//! Written for itself rather than with a client library: those at hand read answers of any length into memory, know no
//! identity tokens and no mirrors, and follow addresses that a manifest names.

mod authorization;
mod body;
mod challenge;
mod credentials;
mod error;
mod remote;
mod retry;
mod settings;
#[cfg(test)]
pub(super) mod stage;
#[cfg(test)]
mod tests;
mod transport;
mod trust;

pub use self::credentials::{Credential, InvalidCredentials, Keyring};
pub use self::error::RegistryError;
pub use self::remote::{Part, Remote};
pub use self::retry::Retry;
pub use self::settings::{Address, Endpoint, Mirror, Registry, Security, Settings};
pub use self::transport::Transports;
pub(crate) use self::trust::unchecked;
