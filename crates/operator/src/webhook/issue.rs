//! Makes a certificate for the webhook, signed by an authority that is made for it and whose key is forgotten.

use std::time::Duration;

use asb_core::rotation::{EARLIER, LIFETIME};
use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, SanType,
};

const AUTHORITY: &str = "agent-sandbox-conversion-webhook-ca";

/// Everything in PEM.
pub(crate) struct Issued {
    pub(crate) authority: String,
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// For a server that goes by these names; the first is the one it is best known by.
pub(crate) fn issue(names: &[String], now: Timestamp) -> Result<Issued, rcgen::Error> {
    let mut authority = params(AUTHORITY, now);
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let authority = CertifiedIssuer::self_signed(authority, generate()?)?;
    let key = generate()?;
    let mut leaf = params(names.first().map_or("", String::as_str), now);
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.use_authority_key_identifier_extension = true;
    for name in names {
        leaf.subject_alt_names.push(SanType::DnsName(name.as_str().try_into()?));
    }
    let certificate = leaf.signed_by(&key, &authority)?;
    Ok(Issued { authority: authority.pem(), certificate: certificate.pem(), key: key.serialize_pem() })
}

fn generate() -> Result<KeyPair, rcgen::Error> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)
}

fn params(name: &str, now: Timestamp) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let begins = now.saturating_sub(EARLIER).unwrap_or(now);
    let ends = now.saturating_add(LIFETIME).unwrap_or(Timestamp::MAX);
    let seconds = |time: Timestamp| Duration::from_secs(u64::try_from(time.as_second()).unwrap_or_default());
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    (params.not_before, params.not_after) = (epoch + seconds(begins), epoch + seconds(ends));
    params
}
