//! Volumes that put files of several sources into one directory.

use std::collections::BTreeSet;

use super::super::at::At;
use super::super::labels::{self, Values};
use super::super::volume_sources::key_to_path;
use super::super::{declared, paths};
use super::volumes;
use crate::names;

const KEY_TYPES: [&str; 6] = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];
const DAY: i64 = 24 * 60 * 60;

/// The paths that files were put at so far.
type Taken<'v> = BTreeSet<&'v str>;

pub(super) fn projected(projected: &At) {
    all(projected, token_path);
}

pub(super) fn projected_with_any_token_path(projected: &At) {
    all(projected, |_, _| ());
}

fn all(projected: &At, token_path: fn(&At, &At)) {
    paths::file_mode(&projected.field("defaultMode"));
    let mut taken = Taken::new();
    for source in projected.field("sources").items() {
        let mut count = 0;
        for name in [
            "secret",
            "configMap",
            "downwardAPI",
            "serviceAccountToken",
            "clusterTrustBundle",
            "podCertificate",
        ] {
            let Some(part) = source.field(name).given() else { continue };
            count += 1;
            match name {
                "secret" | "configMap" => keys(projected, &part, &mut taken),
                "downwardAPI" => downward(projected, &part, &mut taken),
                "serviceAccountToken" => token(projected, &part, token_path),
                "clusterTrustBundle" => trust_bundle(projected, &part, &mut taken),
                _ => certificate(projected, &part, &mut taken),
            }
        }
        if count > 1 {
            source.forbidden("may not specify more than 1 volume type per source");
        }
    }
}

fn keys<'v>(projected: &At, part: &At<'v, '_>, taken: &mut Taken<'v>) {
    part.field("name").must_be_given();
    for item in part.field("items").items() {
        key_to_path(&item);
        take(projected, item.text_of("path"), part.text_of("name"), taken);
    }
}

fn downward<'v>(projected: &At, part: &At<'v, '_>, taken: &mut Taken<'v>) {
    for file in part.field("items").items() {
        volumes::downward_file(part, &file);
        take(projected, file.text_of("path"), file.text_of("path"), taken);
    }
}

/// No two files are at one path.
fn take<'v>(projected: &At, path: &'v str, shown: &str, taken: &mut Taken<'v>) {
    if !path.is_empty() && !taken.insert(path) {
        projected.invalid(shown, "conflicting duplicate paths");
    }
}

fn token(projected: &At, token: &At, token_path: fn(&At, &At)) {
    let seconds = token.field("expirationSeconds");
    super::super::requests::token_age(&seconds);
    if token.text_of("path").is_empty() {
        projected.field("path").required("");
    } else {
        token_path(projected, token);
    }
}

fn token_path(projected: &At, token: &At) {
    paths::unreserved_path(&projected.field("path"), token.text_of("path"));
}

/// The paths of tokens in all volumes of a pod.
pub(super) fn token_paths(spec: &At) {
    for volume in spec.field("volumes").items() {
        let projected = volume.field("projected");
        for source in projected.field("sources").items() {
            token_path(&projected, &source.field("serviceAccountToken"));
        }
    }
}

/// A token is one of the account that the pod runs as.
pub(super) fn tokens_need_an_account(spec: &At) {
    if !spec.text_of("serviceAccountName").is_empty() || !spec.text_of("serviceAccount").is_empty() {
        return;
    }
    for volume in spec.field("volumes").items() {
        let projected = volume.field("projected");
        for source in projected.field("sources").items() {
            if let Some(token) = source.field("serviceAccountToken").given() {
                token.forbidden("must not be specified when serviceAccountName is not set");
            }
        }
    }
}

fn trust_bundle<'v>(projected: &At, bundle: &At<'v, '_>, taken: &mut Taken<'v>) {
    let (name, signer, selector) =
        (bundle.field("name"), bundle.field("signerName"), bundle.field("labelSelector"));
    match (name.exists(), signer.exists()) {
        (true, true) => {
            let shown = declared::shown("ClusterTrustBundleProjection", bundle.value);
            bundle.invalid_shown(shown, "only one of name and signerName may be used");
        }
        (true, false) => {
            bundle_name(&name);
            if selector.exists() {
                let shown = declared::shown("LabelSelector", selector.value);
                selector.invalid_shown(shown, "labelSelector must be unset if name is specified");
            }
        }
        (false, true) => {
            if signer.text().is_empty() {
                signer.required("must be a valid signer name");
            }
            signer_name(&signer);
            labels::selector(&selector, Values::AsLabels);
        }
        (false, false) => bundle.required("either name or signerName must be specified"),
    }
    let path = bundle.field("path");
    path.must_be_given();
    paths::unreserved_path(&path, path.text());
    if !taken.insert(path.text()) {
        projected.invalid(path.text(), "conflicting duplicate paths");
    }
}

/// The name of a bundle of a signer starts with the signer's.
fn bundle_name(name: &At) {
    if name.text().is_empty() {
        name.required("must be a valid object name");
    }
    let own = name.text().rsplit_once(':').map_or(name.text(), |(_, own)| own);
    for message in names::dns_subdomain(own) {
        name.invalid(name.text(), format!("not a valid clustertrustbundlename: {message}"));
    }
}

/// A domain and a path, such as `example.com/signer`.
fn signer_name(name: &At) {
    if !name.must_be_given() {
        return;
    }
    let Some((domain, path)) = name.text().split_once('/').filter(|(_, path)| !path.contains('/')) else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return name.invalid(name.text(), detail);
    };
    if domain.len() > 253 {
        name.too_long(253);
    }
    first_bad_label(name, domain, names::dns_label);
    if !domain.contains('.') {
        name.invalid(domain, "should be a domain with at least two segments separated by dots");
    }
    first_bad_label(name, path, names::dns_subdomain);
    if name.text().len() > 571 {
        name.too_long(571);
    }
}

fn first_bad_label(name: &At, part: &str, rule: names::Rule) {
    let bad = part.split('.').map(|label| (label, rule(label))).find(|(_, messages)| !messages.is_empty());
    for (label, message) in
        bad.into_iter().flat_map(|(label, messages)| messages.into_iter().map(move |it| (label, it)))
    {
        name.invalid(part, format!("validating label {}: {message}", crate::field::Quoted(label)));
    }
}

fn certificate<'v>(projected: &At, certificate: &At<'v, '_>, taken: &mut Taken<'v>) {
    let signer = certificate.field("signerName");
    signer_name(&signer);
    certificate.field("keyType").must_be_one_of(&KEY_TYPES);
    if let Some(seconds) = certificate.field("maxExpirationSeconds").given() {
        let host = signer.text().split('/').next().unwrap_or_default();
        let own = host == "kubernetes.io" || host.ends_with(".kubernetes.io");
        let most = if own { DAY } else { 91 * DAY };
        if seconds.integer() < 3600 {
            seconds.invalid(seconds.integer(), "if provided, maxExpirationSeconds must be >= 3600");
        }
        if seconds.integer() > most {
            let detail = format!("if provided, maxExpirationSeconds must be <= {most}");
            seconds.invalid(seconds.integer(), detail);
        }
    }
    let mut count = 0;
    for name in ["credentialBundlePath", "keyPath", "certificateChainPath"] {
        let path = certificate.field(name);
        if !path.text().is_empty() {
            count += 1;
            paths::unreserved_path(&path, path.text());
            take(projected, path.text(), path.text(), taken);
        }
    }
    if count == 0 {
        certificate
            .required("specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
    }
}
