//! The operator's conversion webhook at a place of the test's choice, with a certificate authority made for the moment.

mod certificate;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use asb_operator::webhook::{self, Certificates, Files, Host};
use asb_types::crd::{WEBHOOK_NAMESPACE, WEBHOOK_SERVICE};
use kube::Client;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A webhook that is being served. It ends when dropped.
pub struct Webhook {
    address: SocketAddr,
    authority: String,
    /// Where the webhook reads its certificate, again and again.
    _files: TempDir,
    _stop: DropGuard,
}

impl Webhook {
    /// On a free port of 127.0.0.1.
    pub async fn serve(client: &Client) -> Result<Self> {
        Self::serve_on(client, Ipv4Addr::LOCALHOST.into(), "localhost").await
    }

    /// On a free port of an address of this machine, where it is also known by a name.
    pub async fn serve_on(client: &Client, address: IpAddr, name: &str) -> Result<Self> {
        let directory = tempfile::tempdir().context("a place for the certificate")?;
        let authority = certificate::issue(vec![address.to_string(), name.to_owned()], directory.path())?;
        let listener = TcpListener::bind((address, 0)).await.context("listening")?;
        let address = listener.local_addr()?;
        let webhook = webhook::Webhook::open(client, listener, &host(), files(&directory))?;
        let stop = CancellationToken::new();
        tokio::spawn(webhook.run(stop.clone()));
        Ok(Self { address, authority, _files: directory, _stop: stop.drop_guard() })
    }

    /// For `clientConfig.url`.
    pub fn url(&self) -> String {
        format!("https://{}/convert", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// For `clientConfig.caBundle`, which wants it in base64.
    pub fn ca_bundle_pem(&self) -> &str {
        &self.authority
    }
}

fn files(directory: &TempDir) -> Certificates {
    Certificates::Files(Files {
        directory: directory.path().to_owned(),
        certificate: certificate::CERTIFICATE.to_owned(),
        key: certificate::KEY.to_owned(),
    })
}

/// How the webhook would be known if it managed its certificates itself.
fn host() -> Host {
    Host {
        service: WEBHOOK_SERVICE.to_owned(),
        namespace: WEBHOOK_NAMESPACE.to_owned(),
        cluster_domain: "cluster.local".to_owned(),
        external: None,
    }
}
