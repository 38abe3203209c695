//! TLS for the server: its own certificate, and client certificates for whoever has one.

use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use super::{Certificates, Error};

impl Certificates {
    /// Clients without a certificate are let in, to say by other means who they are; one that this authority has not
    /// signed ends the handshake.
    pub fn server_config(&self) -> Result<ServerConfig, Error> {
        let provider = Arc::new(default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.certificate().clone()).map_err(failed)?;
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .allow_unauthenticated()
            .build()
            .map_err(failed)?;
        let chain = vec![self.serving.certificate.clone()];
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(failed)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, self.serving.tls_key())
            .map_err(failed)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Tls(Box::new(error))
}
