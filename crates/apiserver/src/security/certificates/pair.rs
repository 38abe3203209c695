//! A certificate and its key, as one PEM text.

use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PublicKeyData};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use super::Error;

/// A key, and a certificate for it.
pub(super) struct Pair {
    pub(super) certificate: CertificateDer<'static>,
    pub(super) certificate_pem: String,
    pub(super) key: KeyPair,
}

impl Pair {
    pub(super) fn new(certificate: rcgen::Certificate, key: KeyPair) -> Self {
        Self { certificate_pem: certificate.pem(), certificate: certificate.der().clone(), key }
    }

    /// The text of a file, or what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let key = parse_key(text)?;
        let certificate_pem =
            certificate_section(text).ok_or("it has no certificate, or only part of one")?;
        let certificate = CertificateDer::from_pem_slice(certificate_pem.as_bytes());
        let certificate = certificate.map_err(|error| format!("its certificate cannot be read ({error})"))?;
        let pair = Self { certificate: certificate.into_owned(), certificate_pem, key };
        let (rest, parsed) = X509Certificate::from_der(&pair.certificate)
            .map_err(|error| format!("its certificate cannot be read ({error})"))?;
        if !rest.is_empty() || parsed.public_key().raw != pair.key.subject_public_key_info() {
            return Err("its certificate is for another key".to_owned());
        }
        Ok(pair)
    }

    pub(super) fn to_pem(&self) -> String {
        format!("{}{}", self.key.serialize_pem(), self.certificate_pem)
    }

    pub(super) fn parsed(&self) -> X509Certificate<'_> {
        let (_, certificate) =
            X509Certificate::from_der(&self.certificate).expect("it was read or made by us");
        certificate
    }

    pub(super) fn tls_key(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.serialize_der()).into()
    }
}

/// The first certificate of a text, with its frame and nothing else.
fn certificate_section(text: &str) -> Option<String> {
    const END: &str = "-----END CERTIFICATE-----";
    let start = text.find("-----BEGIN CERTIFICATE-----")?;
    let length = text[start..].find(END)? + END.len();
    Some(format!("{}\n", &text[start..start + length]))
}

pub(super) fn generate_key() -> Result<KeyPair, Error> {
    Ok(KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?)
}

/// The first key of a text, or what is wrong with it.
pub(super) fn parse_key(text: &str) -> Result<KeyPair, String> {
    let key = PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes());
    let key = key.map_err(|_| "it has no key, or only part of one")?;
    let key = KeyPair::from_pkcs8_der_and_sign_algo(&key, &PKCS_ECDSA_P256_SHA256);
    key.map_err(|_| "its key cannot be read as one for ECDSA with P-256".to_owned())
}
