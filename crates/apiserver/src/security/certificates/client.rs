//! Who a client certificate names.

use std::fmt::Write;

use ring::digest::{SHA256, digest};
use x509_parser::certificate::X509Certificate;
use x509_parser::der_parser::{Oid, oid};
use x509_parser::prelude::FromDer;
use x509_parser::x509::AttributeTypeAndValue;

use crate::security::authentication::{CREDENTIAL_ID, User};

/// Where Kubernetes looks for a uid.
const UID: Oid<'static> = oid!(1.3.6.1.4.1.57683.2);

/// The user of a certificate that the handshake has verified: its common name, with its organizations as groups. Nothing
/// where it names nobody, or has more than one uid.
pub fn user_of_certificate(der: &[u8]) -> Option<User> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().last()?.as_str().ok().filter(|name| !name.is_empty())?;
    let groups = subject.iter_organization().map(|group| group.as_str().map(str::to_owned));
    let mut uids = subject.iter_by_oid(&UID);
    let uid = uids.next().map(AttributeTypeAndValue::as_str).transpose().ok()?.unwrap_or_default();
    let mut user = User {
        name: name.to_owned(),
        uid: uid.to_owned(),
        groups: groups.collect::<Result<_, _>>().ok()?,
        ..User::default()
    };
    user.extra.insert(CREDENTIAL_ID.to_owned(), vec![format!("X509SHA256={}", hexadecimal(der))]);
    uids.next().is_none().then_some(user)
}

fn hexadecimal(der: &[u8]) -> String {
    let mut text = String::new();
    for byte in digest(&SHA256, der).as_ref() {
        write!(text, "{byte:02x}").expect("text takes any text");
    }
    text
}
