//! The server's own certificate authority and what hangs on it, kept in one folder: the authority, the certificates of
//! the server and of its administrator, and the key that signs tokens. Made on the first start and renewed in time.
//!
//! A certificate and its key are one file, written whole or not at all, so that a crash at any point leaves what the next
//! start accepts. Whoever opens the folder must be alone in it; the store's lock sees to that.

mod authority;
mod client;
mod files;
pub mod kubeconfig;
mod leaf;
mod pair;
mod server_names;
mod tls;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::{fmt, io};

use jiff::Timestamp;

use super::authentication::SigningKey;
use authority::Authority;
pub use client::user_of_certificate;
use files::Folder;
use leaf::Leaf;
use pair::Pair;
pub use server_names::{ServerNames, host_name};

const AUTHORITY: &str = "authority.pem";
/// The authority without its key, for tools that want a file.
const AUTHORITY_CERTIFICATE: &str = "ca.crt";
const SERVING: &str = "serving.pem";
const ADMIN: &str = "admin.pem";
const SERVICE_ACCOUNTS: &str = "service-accounts.pem";

/// The opened folder.
pub struct Certificates {
    authority: Authority,
    serving: Pair,
    admin: Pair,
    service_accounts: Vec<u8>,
    renewal: Timestamp,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {action} {}", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} is damaged: {why}. {remedy}", path.display())]
    Damaged { path: PathBuf, why: String, remedy: &'static str },
    #[error(
        "the certificate authority in {} ended on {end}. Move the file away to have a new one made, and give clients the \
         new kubeconfig", path.display()
    )]
    Ended { path: PathBuf, end: Timestamp },
    #[error("cannot make a certificate")]
    Make(#[from] rcgen::Error),
    #[error("cannot set up TLS")]
    Tls(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Certificates {
    /// Opens the folder and makes what is missing or about to end. Opening it again later renews what is due by then.
    pub fn open(folder: &Path, names: &ServerNames, now: Timestamp) -> Result<Self, Error> {
        let folder = Folder::open(folder)?;
        let authority = Authority::open(&folder, now)?;
        folder.publish(AUTHORITY_CERTIFICATE, &authority.certificate_pem())?;
        let serving = Leaf::serving(names).open(&folder, SERVING, &authority, now)?;
        let admin = Leaf::admin().open(&folder, ADMIN, &authority, now)?;
        let service_accounts = open_signing_key(&folder)?;
        let renewal = leaf::renewal(&serving).min(leaf::renewal(&admin));
        Ok(Self { authority, serving, admin, service_accounts, renewal })
    }

    /// When to open the folder again, so that nothing ends while the server runs.
    pub fn renewal(&self) -> Timestamp {
        self.renewal
    }

    /// The certificate that clients trust.
    pub fn authority_pem(&self) -> String {
        self.authority.certificate_pem()
    }

    /// The key that signs the tokens of ServiceAccounts.
    pub fn signing_key(&self) -> SigningKey {
        SigningKey::from_pkcs8(&self.service_accounts).expect("it was read when the folder was opened")
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Certificates(until {})", self.renewal)
    }
}

fn open_signing_key(folder: &Folder) -> Result<Vec<u8>, Error> {
    let Some(text) = folder.read(SERVICE_ACCOUNTS)? else {
        let key = pair::generate_key()?;
        folder.write(SERVICE_ACCOUNTS, &key.serialize_pem())?;
        return Ok(key.serialize_der());
    };
    let key = pair::parse_key(&text).map(|key| key.serialize_der());
    key.map_err(|why| Error::Damaged {
        path: folder.path(SERVICE_ACCOUNTS),
        why,
        remedy: "Restore it from a backup, or move it away to have a new one made; all tokens of ServiceAccounts end then",
    })
}
