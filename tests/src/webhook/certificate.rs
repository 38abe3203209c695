//! A certificate authority that signs one certificate and is forgotten.

use std::path::Path;

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};

pub(super) const CERTIFICATE: &str = "tls.crt";
pub(super) const KEY: &str = "tls.key";

/// Puts a certificate for these names and addresses, and its key, into a directory. Returns the authority's in PEM.
pub(super) fn issue(names: Vec<String>, directory: &Path) -> Result<String> {
    let authority = authority()?;
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(names)?.signed_by(&key, &authority)?;
    for (name, text) in [(CERTIFICATE, certificate.pem()), (KEY, key.serialize_pem())] {
        std::fs::write(directory.join(name), text).with_context(|| format!("writing {name}"))?;
    }
    Ok(authority.pem())
}

fn authority() -> Result<CertifiedIssuer<'static, KeyPair>, rcgen::Error> {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, "test webhook authority");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)
}
