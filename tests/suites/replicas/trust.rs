//! A client as strict as an API server: trusts the given authorities, and asks for the name of the Service.

use std::sync::Arc;

use anyhow::Result;
use asb_types::crd;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Fails unless the webhook on this port proves to be the one of the namespace.
pub(crate) async fn accepts(port: u16, namespace: &str, authorities: &[u8]) -> Result<()> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(authorities).filter_map(Result::ok));
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(format!("{}.{namespace}.svc", crd::WEBHOOK_SERVICE))?;
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    Ok(())
}
