//! Certificates that the authority signs: what they say, and when they are made anew.

use std::collections::BTreeSet;
use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyUsagePurpose, SanType,
};
use x509_parser::extensions::GeneralName;

use super::authority::{Authority, end_of};
use super::files::Folder;
use super::pair::Pair;
use super::{Error, ServerNames};
use crate::security::authorization::index::MASTERS;

const LIFETIME: SignedDuration = SignedDuration::from_hours(365 * 24);
const RENEWED_BEFORE: SignedDuration = SignedDuration::from_hours(90 * 24);
const REMEDY: &str = "Move it away to have a new one made";

/// A certificate as it should be.
pub(super) struct Leaf {
    name: &'static str,
    organization: Option<&'static str>,
    usage: ExtendedKeyUsagePurpose,
    names: ServerNames,
}

impl Leaf {
    pub(super) fn serving(names: &ServerNames) -> Self {
        let usage = ExtendedKeyUsagePurpose::ServerAuth;
        Self { name: "kube-apiserver", organization: None, usage, names: names.clone() }
    }

    pub(super) fn admin() -> Self {
        let usage = ExtendedKeyUsagePurpose::ClientAuth;
        let names = ServerNames::default();
        Self { name: "kubernetes-admin", organization: Some(MASTERS), usage, names }
    }

    /// Reads the certificate, or makes it where it is missing, about to end, signed by another authority or without a
    /// name that is wanted.
    pub(super) fn open(
        &self,
        folder: &Folder,
        file: &str,
        authority: &Authority,
        now: Timestamp,
    ) -> Result<Pair, Error> {
        let damaged = |why| Error::Damaged { path: folder.path(file), why, remedy: REMEDY };
        let present = folder.read(file)?.map(|text| Pair::parse(&text)).transpose().map_err(damaged)?;
        if let Some(present) = present.filter(|present| self.is_met_by(present, authority, now)) {
            return Ok(present);
        }
        let end = now.saturating_add(LIFETIME).unwrap_or(Timestamp::MAX);
        let made = authority.sign(self.params()?, now, end)?;
        folder.write(file, &made.to_pem())?;
        Ok(made)
    }

    fn is_met_by(&self, present: &Pair, authority: &Authority, now: Timestamp) -> bool {
        let begun = present.parsed().validity().not_before.timestamp() <= now.as_second();
        begun && now < renewal(present) && authority.has_signed(present) && self.names.are_in(present)
    }

    fn params(&self) -> Result<CertificateParams, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, self.name);
        if let Some(organization) = self.organization {
            params.distinguished_name.push(DnType::OrganizationName, organization);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![self.usage.clone()];
        for name in &self.names.names {
            params.subject_alt_names.push(SanType::DnsName(name.as_str().try_into()?));
        }
        params.subject_alt_names.extend(self.names.addresses.iter().copied().map(SanType::IpAddress));
        Ok(params)
    }
}

/// When a certificate should be made anew.
pub(super) fn renewal(pair: &Pair) -> Timestamp {
    end_of(pair).saturating_sub(RENEWED_BEFORE).unwrap_or(Timestamp::MIN)
}

impl ServerNames {
    /// Whether a certificate has them all.
    fn are_in(&self, pair: &Pair) -> bool {
        let certificate = pair.parsed();
        let extension = certificate.subject_alternative_name().ok().flatten();
        let general = extension.map(|extension| extension.value.general_names.as_slice()).unwrap_or_default();
        let (mut names, mut addresses) = (BTreeSet::new(), BTreeSet::new());
        for name in general {
            match name {
                GeneralName::DNSName(name) => drop(names.insert((*name).to_owned())),
                GeneralName::IPAddress(bytes) => addresses.extend(address(bytes)),
                _ => {}
            }
        }
        self.names.is_subset(&names) && self.addresses.is_subset(&addresses)
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}
