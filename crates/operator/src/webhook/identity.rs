//! A certificate with its key, as the webhook serves it, and whether an API server would accept it.

use std::sync::Arc;
use std::time::Duration;

use asb_core::rotation::Validity;
use jiff::Timestamp;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::sign::CertifiedKey;
use x509_parser::prelude::{FromDer, X509Certificate};

/// What is served, and what API servers are to trust for it.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) key: Arc<CertifiedKey>,
    /// Certificates of authorities in PEM, where we know them.
    pub(crate) bundle: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum Broken {
    #[error("there is no certificate, or it cannot be read")]
    Certificate,
    #[error("there is no key, or it cannot be read")]
    Key(#[source] tokio_rustls::rustls::pki_types::pem::Error),
    #[error("the certificate and the key do not fit")]
    Pair(#[source] tokio_rustls::rustls::Error),
}

/// Reads a certificate chain and its key, both in PEM.
pub(crate) fn certified(chain: &str, key: &str) -> Result<CertifiedKey, Broken> {
    let chain = certificates(chain);
    if chain.is_empty() {
        return Err(Broken::Certificate);
    }
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(Broken::Key)?;
    CertifiedKey::from_der(chain, key, &provider()).map_err(Broken::Pair)
}

/// All certificates of a text in PEM that can be read.
pub(crate) fn certificates(pem: &str) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem.as_bytes()).filter_map(Result::ok).collect()
}

pub(crate) fn validity(certificate: &CertificateDer<'_>) -> Option<Validity> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    let time = |seconds| Timestamp::from_second(seconds).ok();
    let validity = parsed.validity();
    Some(Validity {
        begins: time(validity.not_before.timestamp())?,
        ends: time(validity.not_after.timestamp())?,
    })
}

/// Whether a client that trusts these authorities accepts the chain for a server of this name at this time. Go's clients
/// want the authority to be good at that time, too.
pub(crate) fn is_accepted(
    chain: &[CertificateDer<'_>],
    authorities: &[CertificateDer<'_>],
    name: &str,
    now: Timestamp,
) -> bool {
    let is_now = |validity: Validity| validity.begins <= now && now < validity.ends;
    let current = authorities.iter().filter(|authority| validity(authority).is_some_and(is_now));
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(current.map(|authority| authority.clone().into_owned()));
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build();
    let (Ok(verifier), Ok(name), [leaf, rest @ ..]) = (verifier, ServerName::try_from(name), chain) else {
        return false;
    };
    let now = UnixTime::since_unix_epoch(Duration::from_secs(now.as_second().try_into().unwrap_or_default()));
    tokio_rustls::rustls::client::danger::ServerCertVerifier::verify_server_cert(
        &*verifier,
        leaf,
        rest,
        &name,
        &[],
        now,
    )
    .is_ok()
}

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(default_provider())
}
