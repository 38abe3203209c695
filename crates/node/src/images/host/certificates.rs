//! Whom programs of the built-in image trust: the authorities that this machine trusts. Certificates only, whatever else
//! may lie in the files.

use super::HostError;
use super::skeleton::Skeleton;

/// Where systems keep all of them in one file.
const BUNDLES: [&str; 5] = [
    "etc/ssl/certs/ca-certificates.crt",
    "etc/pki/tls/certs/ca-bundle.crt",
    "etc/ca-certificates/extracted/tls-ca-bundle.pem",
    "etc/ssl/ca-bundle.pem",
    "etc/ssl/cert.pem",
];
const HERE: &str = "etc/ssl/certs/ca-certificates.crt";
/// Where programs of other systems look.
const LINKS: [(&str, &str); 3] = [
    ("etc/ssl/cert.pem", "certs/ca-certificates.crt"),
    ("etc/pki/tls/certs/ca-bundle.crt", "../../../ssl/certs/ca-certificates.crt"),
    ("etc/pki/tls/cert.pem", "../../ssl/certs/ca-certificates.crt"),
];
const FOLDERS: [&str; 5] = ["etc/ssl", "etc/ssl/certs", "etc/pki", "etc/pki/tls", "etc/pki/tls/certs"];
const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";
/// Enough for requests to be made; the machine's own may name its owner.
const SETTINGS: &str = "[req]\ndistinguished_name = subject\n[subject]\n";

pub(super) fn add(skeleton: &mut Skeleton) -> Result<(), HostError> {
    FOLDERS.iter().try_for_each(|folder| skeleton.directory(folder, 0o755))?;
    skeleton.file("etc/ssl/openssl.cnf", SETTINGS)?;
    for bundle in BUNDLES {
        if let Some(content) = skeleton.read(bundle)? {
            skeleton.file(HERE, certificates(&String::from_utf8_lossy(&content)))?;
            LINKS.iter().try_for_each(|(name, target)| skeleton.link(name, target))?;
            break;
        }
    }
    single(skeleton)
}

/// Links by the hash of a certificate's subject, by which OpenSSL finds it in a directory.
fn single(skeleton: &mut Skeleton) -> Result<(), HostError> {
    for name in skeleton.names("etc/ssl/certs") {
        let name = format!("etc/ssl/certs/{name}");
        if let (Some(_), Some(shown)) = (skeleton.target(&name), skeleton.shown(&name)) {
            skeleton.link(&name, &shown)?;
        }
    }
    Ok(())
}

fn certificates(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(BEGIN) {
        let Some(end) = rest[start..].find(END) else { break };
        kept.push_str(&rest[start..start + end]);
        kept.push_str(END);
        kept.push('\n');
        rest = &rest[start + end + END.len()..];
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_certificates_are_taken_from_a_bundle() {
        let text = format!(
            "# mine\n{BEGIN}\nAAA\n{END}\n-----BEGIN PRIVATE KEY-----\nS\n-----END PRIVATE KEY-----\n{BEGIN}\nB"
        );
        assert_eq!(certificates(&text), format!("{BEGIN}\nAAA\n{END}\n"));
    }
}
