//! The authority that signs the certificates of the server and of its clients.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use x509_parser::extensions::ParsedExtension;

use super::files::Folder;
use super::pair::{Pair, generate_key};
use super::{AUTHORITY, Error};

const NAME: &str = "agent-sandbox-ca";
const LIFETIME: SignedDuration = SignedDuration::from_hours(10 * 365 * 24);
/// Clocks differ, and a client's may be behind.
const EARLIER: SignedDuration = SignedDuration::from_hours(1);
const REMEDY: &str =
    "Restore it from a backup, or move it away to have a new one made; clients need the new kubeconfig then";

pub(super) struct Authority(Pair);

impl Authority {
    pub(super) fn open(folder: &Folder, now: Timestamp) -> Result<Self, Error> {
        let path = folder.path(AUTHORITY);
        let Some(text) = folder.read(AUTHORITY)? else {
            let authority = Self::make(now)?;
            folder.write(AUTHORITY, &authority.0.to_pem())?;
            return Ok(authority);
        };
        let damaged = |why| Error::Damaged { path: path.clone(), why, remedy: REMEDY };
        let authority = Self(Pair::parse(&text).map_err(damaged)?);
        authority.check().map_err(|why| damaged(why.to_owned()))?;
        let end = authority.end();
        if end <= now { Err(Error::Ended { path, end }) } else { Ok(authority) }
    }

    fn make(now: Timestamp) -> Result<Self, Error> {
        let key = generate_key()?;
        let mut params = authority_params();
        validity(&mut params, now, now.saturating_add(LIFETIME).unwrap_or(Timestamp::MAX));
        let certificate = params.self_signed(&key)?;
        Ok(Self(Pair::new(certificate, key)))
    }

    /// Whether it can have signed what is beside it.
    fn check(&self) -> Result<(), &'static str> {
        let certificate = self.0.parsed();
        let mut names = certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok());
        if !certificate.is_ca() {
            return Err("its certificate is not that of an authority");
        }
        if !names.any(|name| name == NAME) {
            return Err("its certificate is that of another authority");
        }
        Ok(())
    }

    /// A certificate for a new key, from now to an end that is not after the authority's own.
    pub(super) fn sign(
        &self,
        mut params: CertificateParams,
        now: Timestamp,
        end: Timestamp,
    ) -> Result<Pair, Error> {
        validity(&mut params, now, end.min(self.end()));
        params.use_authority_key_identifier_extension = true;
        let key = generate_key()?;
        let own = KeyPair::from_pkcs8_der_and_sign_algo(
            &self.0.key.serialize_der().as_slice().into(),
            &rcgen::PKCS_ECDSA_P256_SHA256,
        )?;
        let certificate = params.signed_by(&key, &Issuer::new(authority_params(), own))?;
        Ok(Pair::new(certificate, key))
    }

    /// Whether this authority, rather than one before it, has signed a certificate.
    pub(super) fn has_signed(&self, pair: &Pair) -> bool {
        let (own, theirs) = (self.0.parsed(), pair.parsed());
        let id = own.extensions().iter().find_map(|extension| match extension.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0),
            _ => None,
        });
        let signer = theirs.extensions().iter().find_map(|extension| match extension.parsed_extension() {
            ParsedExtension::AuthorityKeyIdentifier(signer) => signer.key_identifier.as_ref().map(|id| id.0),
            _ => None,
        });
        id.is_some() && id == signer
    }

    pub(super) fn certificate_pem(&self) -> String {
        self.0.certificate_pem.clone()
    }

    pub(super) fn certificate(&self) -> &tokio_rustls::rustls::pki_types::CertificateDer<'static> {
        &self.0.certificate
    }

    fn end(&self) -> Timestamp {
        end_of(&self.0)
    }
}

/// When a certificate ends.
pub(super) fn end_of(pair: &Pair) -> Timestamp {
    Timestamp::from_second(pair.parsed().validity().not_after.timestamp()).unwrap_or(Timestamp::MAX)
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, NAME);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params
}

fn validity(params: &mut CertificateParams, now: Timestamp, end: Timestamp) {
    let start = now.saturating_sub(EARLIER).unwrap_or(now);
    let seconds = |time: Timestamp| Duration::from_secs(u64::try_from(time.as_second()).unwrap_or_default());
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    (params.not_before, params.not_after) = (epoch + seconds(start), epoch + seconds(end));
}
