//! The certificate that the router shows, and those that it asks of clients. Files are looked at again and again, so that a
//! renewed certificate needs no restart; one that cannot be used leaves the last one in place.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use std::{fs, io};

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{self, RootCertStore, ServerConfig};

use crate::metrics::Metrics;

const LOOK: Duration = Duration::from_secs(5);

/// Where certificates are.
#[derive(Clone, Debug)]
pub struct Tls {
    pub certificate: PathBuf,
    pub key: PathBuf,
    pub clients: ClientCertificates,
}

/// Whether clients show certificates.
#[derive(Clone, Debug, Default)]
pub enum ClientCertificates {
    #[default]
    Ignored,
    /// One that is shown has to be signed by these.
    Optional(PathBuf),
    /// Without one there is no connection.
    Required(PathBuf),
}

/// Why the router cannot show itself.
#[derive(Debug, thiserror::Error)]
pub enum BadTls {
    #[error("cannot read {}", .0.display())]
    File(PathBuf, #[source] io::Error),
    #[error("there is no certificate or key that can be used in {}", .0.display())]
    Pem(PathBuf, #[source] pem::Error),
    #[error("certificate and key cannot be used together")]
    Pair(#[source] rustls::Error),
    #[error("the certificates of those who sign for clients cannot be used")]
    Clients(#[source] rustls::server::VerifierBuilderError),
}

pub(crate) struct Shown {
    files: Tls,
    acceptor: RwLock<(TlsAcceptor, Contents)>,
}

/// What the files said when they were read.
type Contents = Vec<Vec<u8>>;

impl Shown {
    pub(crate) fn open(files: Tls) -> Result<Self, BadTls> {
        let contents = contents(&files)?;
        let acceptor = acceptor(&files, &contents)?;
        Ok(Self { files, acceptor: RwLock::new((acceptor, contents)) })
    }

    /// For the next connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.read().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// For as long as the router runs.
    pub(crate) async fn keep_fresh(&self, metrics: &Metrics) {
        loop {
            tokio::time::sleep(LOOK).await;
            match self.look() {
                Ok(false) => {}
                Ok(true) => {
                    metrics.reloaded(true);
                    tracing::info!("the router shows its new certificate");
                }
                Err(error) => {
                    metrics.reloaded(false);
                    let error: &dyn std::error::Error = &error;
                    tracing::error!(error, "a new certificate cannot be used: the last one stays");
                }
            }
        }
    }

    /// Whether there was something new.
    fn look(&self) -> Result<bool, BadTls> {
        let now = contents(&self.files)?;
        if self.acceptor.read().unwrap_or_else(PoisonError::into_inner).1 == now {
            return Ok(false);
        }
        let fresh = acceptor(&self.files, &now)?;
        *self.acceptor.write().unwrap_or_else(PoisonError::into_inner) = (fresh, now);
        Ok(true)
    }
}

fn contents(files: &Tls) -> Result<Contents, BadTls> {
    let signers = match &files.clients {
        ClientCertificates::Ignored => None,
        ClientCertificates::Optional(path) | ClientCertificates::Required(path) => Some(path),
    };
    let read = |path: &PathBuf| fs::read(path).map_err(|error| BadTls::File(path.clone(), error));
    [&files.certificate, &files.key].into_iter().chain(signers).map(read).collect()
}

fn acceptor(files: &Tls, contents: &[Vec<u8>]) -> Result<TlsAcceptor, BadTls> {
    let chain = certificates(&contents[0]).map_err(|error| BadTls::Pem(files.certificate.clone(), error))?;
    let key =
        PrivateKeyDer::from_pem_slice(&contents[1]).map_err(|error| BadTls::Pem(files.key.clone(), error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(BadTls::Pair)?;
    let verifier = match &files.clients {
        ClientCertificates::Ignored => None,
        ClientCertificates::Optional(path) => Some((path, true)),
        ClientCertificates::Required(path) => Some((path, false)),
    };
    let builder = match verifier {
        None => builder.with_no_client_auth(),
        Some((path, is_optional)) => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(
                certificates(&contents[2]).map_err(|error| BadTls::Pem(path.clone(), error))?,
            );
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = if is_optional { verifier.allow_unauthenticated() } else { verifier };
            builder.with_client_cert_verifier(verifier.build().map_err(BadTls::Clients)?)
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(BadTls::Pair)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, pem::Error> {
    let all: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>()?;
    if all.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(all) }
}
