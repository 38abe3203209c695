//! The cluster's certificates and keys, and a kubeconfig for each who logs in. One authority signs them all.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use serde_json::json;

use super::description::Description;

/// Somebody with a certificate: the name and group that RBAC sees, and the addresses it serves at.
struct Holder<'a> {
    file: &'a str,
    user: String,
    group: Option<&'a str>,
    addresses: Vec<String>,
}

/// Writes everything into the cluster's directory.
pub(crate) fn issue(cluster: &Description) -> Result<()> {
    let authority = authority(&cluster.directory)?;
    for holder in holders(cluster) {
        certify(&cluster.directory, &authority, &holder)?;
    }
    for user in users(cluster) {
        kubeconfig(cluster, user)?;
    }
    let key = KeyPair::generate()?;
    secret(&cluster.directory.join("service-accounts.key"), &key.serialize_pem())?;
    secret(&cluster.directory.join("service-accounts.pub"), &key.public_key_pem())
}

fn holders(cluster: &Description) -> Vec<Holder<'static>> {
    let client =
        |file, user: &str, group| Holder { file, user: user.to_owned(), group, addresses: Vec::new() };
    let mut holders = vec![
        Holder {
            file: "apiserver",
            user: "kube-apiserver".into(),
            group: None,
            addresses: served_at(cluster),
        },
        client("admin", "admin", Some("system:masters")),
        client("kube-controller-manager", "system:kube-controller-manager", None),
        client("kube-scheduler", "system:kube-scheduler", None),
    ];
    if cluster.has_node() {
        let address = cluster.home.address().to_string();
        holders.extend([
            client("apiserver-to-kubelet", "kube-apiserver-kubelet-client", Some("system:masters")),
            client("kube-proxy", "system:kube-proxy", None),
            Holder {
                file: "kubelet",
                user: format!("system:node:{}", cluster.name),
                group: Some("system:nodes"),
                addresses: vec![cluster.name.clone(), address],
            },
        ]);
    }
    holders
}

fn users(cluster: &Description) -> &'static [&'static str] {
    let all = &["admin", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"];
    if cluster.has_node() { all } else { &all[..3] }
}

fn served_at(cluster: &Description) -> Vec<String> {
    let names = [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ];
    let mut all: Vec<String> = names.iter().map(ToString::to_string).collect();
    all.extend(["localhost".into(), "127.0.0.1".into()]);
    all.extend([cluster.home.address().to_string(), cluster.home.service(1).to_string()]);
    all
}

fn authority(directory: &Path) -> Result<Issuer<'static, KeyPair>> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "agent-sandbox test cluster");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    secret(&directory.join("ca.crt"), &certificate.pem())?;
    secret(&directory.join("ca.key"), &key.serialize_pem())?;
    Ok(Issuer::new(params, key))
}

fn certify(directory: &Path, authority: &Issuer<'static, KeyPair>, holder: &Holder) -> Result<()> {
    let mut params = CertificateParams::new(holder.addresses.clone())?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, holder.user.as_str());
    if let Some(group) = holder.group {
        params.distinguished_name.push(DnType::OrganizationName, group);
    }
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, authority)?;
    secret(&directory.join(format!("{}.crt", holder.file)), &certificate.pem())?;
    secret(&directory.join(format!("{}.key", holder.file)), &key.serialize_pem())
}

/// JSON is YAML, and every client reads it.
fn kubeconfig(cluster: &Description, user: &str) -> Result<()> {
    let server = format!("https://{}:{}", cluster.home.address(), cluster.home.port());
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster.name, "cluster": {
            "server": server,
            "certificate-authority": cluster.file("ca.crt"),
        }}],
        "users": [{"name": user, "user": {
            "client-certificate": cluster.file(&format!("{user}.crt")),
            "client-key": cluster.file(&format!("{user}.key")),
        }}],
        "contexts": [{"name": cluster.name, "context": {"cluster": cluster.name, "user": user}}],
        "current-context": cluster.name,
    });
    let path = cluster.directory.join(format!("{user}.kubeconfig"));
    secret(&path, &serde_json::to_string_pretty(&config)?)
}

fn secret(path: &Path, text: &str) -> Result<()> {
    let mut options = fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("write {}", path.display()))?;
    file.write_all(text.as_bytes()).with_context(|| format!("write {}", path.display()))
}
