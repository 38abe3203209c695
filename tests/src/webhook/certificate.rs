//! A certificate authority that signs one certificate and is forgotten.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::Error;

pub(super) struct Identity {
    pub(super) server: Arc<ServerConfig>,
    /// The authority's certificate in PEM.
    pub(super) authority: String,
}

impl Identity {
    /// For a server that goes by these names and addresses.
    pub(super) fn issue(names: Vec<String>) -> Result<Self, Error> {
        let authority = authority().map_err(Error::Certificate)?;
        let (certificate, key) = leaf(&authority, names).map_err(Error::Certificate)?;
        let server = server(certificate, key).map_err(Error::Tls)?;
        Ok(Self { server: Arc::new(server), authority: authority.pem() })
    }
}

fn authority() -> Result<CertifiedIssuer<'static, KeyPair>, rcgen::Error> {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, "test webhook authority");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)
}

fn leaf(
    authority: &CertifiedIssuer<'static, KeyPair>,
    names: Vec<String>,
) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), rcgen::Error> {
    let key = KeyPair::generate()?;
    let parameters = CertificateParams::new(names)?;
    let certificate = parameters.signed_by(&key, authority)?;
    Ok((certificate.der().clone(), PrivatePkcs8KeyDer::from(key.serialize_der()).into()))
}

fn server(
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, tokio_rustls::rustls::Error> {
    ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
}
