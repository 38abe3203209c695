//! The conversion webhook: an HTTPS server that API servers ask, its certificates, and what tells API servers about it.
//! Every operator serves it, whoever leads. Only the embedded API server needs none: it converts by itself.

mod contents;
mod convert;
mod definitions;
mod external;
mod files;
mod followed;
mod identity;
mod issue;
mod keeper;

use std::sync::Arc;

use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_util::sync::CancellationToken;

use crate::listener;
use convert::Converter;
pub use files::{Files, Unreadable};
use followed::{Place, Seen, follow};
use identity::Identity;
use keeper::Keeper;

/// How the webhook is known to API servers.
#[derive(Clone, Debug)]
pub struct Host {
    pub service: String,
    pub namespace: String,
    pub cluster_domain: String,
    /// Where it really is, if that is outside the cluster.
    pub external: Option<External>,
}

/// A place outside the cluster that API servers can reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    pub host: String,
    pub port: u16,
}

/// Who looks after the certificates.
#[derive(Clone, Debug)]
pub enum Certificates {
    /// We do, in a Secret; and tell the API server.
    Managed,
    /// Somebody else does, in files; and tells the API server.
    Files(Files),
}

type Served = watch::Sender<Option<Arc<Identity>>>;

/// A webhook that is ready to answer as soon as it has a certificate.
pub struct Webhook {
    listener: TcpListener,
    tls: ServerConfig,
    served: watch::Receiver<Option<Arc<Identity>>>,
    /// What looks after certificates and definitions.
    background: JoinSet<()>,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot use the webhook's certificate")]
    Files(#[from] Unreadable),
    #[error("cannot set up TLS")]
    Tls(#[from] tokio_rustls::rustls::Error),
}

impl Webhook {
    pub fn open(
        client: &Client,
        listener: TcpListener,
        host: &Host,
        certificates: Certificates,
    ) -> Result<Self, OpenError> {
        let served = Served::default();
        let receiver = served.subscribe();
        let mut background = JoinSet::new();
        match certificates {
            Certificates::Managed => manage(client, host, served, &mut background),
            Certificates::Files(files) => {
                served.send_replace(Some(Arc::new(files.read()?)));
                background.spawn(files.keep(served));
            }
        }
        Ok(Self { listener, tls: tls(receiver.clone())?, served: receiver, background })
    }

    /// Whether it has a certificate to answer with.
    pub fn is_serving(&self) -> impl Fn() -> bool + Send + Sync + use<> {
        let served = self.served.clone();
        move || served.borrow().is_some()
    }

    /// Answers until it is stopped.
    pub async fn run(mut self, stop: CancellationToken) {
        let (acceptor, converter) = (TlsAcceptor::from(Arc::new(self.tls)), Converter::default());
        let handler = move |request| {
            let converter = converter.clone();
            async move { converter.answer(request).await }
        };
        listener::serve(self.listener, Some(acceptor), handler, stop).await;
        self.background.shutdown().await;
    }
}

fn manage(client: &Client, host: &Host, served: Served, background: &mut JoinSet<()>) {
    for (name, _) in asb_types::crd::DOCUMENTS {
        let seen = watched(client, definitions::place(name), background);
        background.spawn(definitions::keep(client.clone(), name, host.clone(), seen, served.subscribe()));
    }
    if let Some(external) = host.external.clone() {
        let seen = watched(client, external::place(host), background);
        background.spawn(external::keep(client.clone(), host.clone(), external, seen));
    }
    let seen = watched(client, keeper::place(host), background);
    let keeper = Keeper { client: client.clone(), host: host.clone(), served };
    background.spawn(keeper.keep(seen));
}

fn watched(client: &Client, place: Place, background: &mut JoinSet<()>) -> watch::Receiver<Seen> {
    let (sender, receiver) = watch::channel(Seen::NotYet);
    background.spawn(follow(client.clone(), place, sender));
    receiver
}

fn tls(served: watch::Receiver<Option<Arc<Identity>>>) -> Result<ServerConfig, tokio_rustls::rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(identity::provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Current(served)));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Each connection gets the certificate of the moment.
#[derive(Debug)]
struct Current(watch::Receiver<Option<Arc<Identity>>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.borrow().as_ref().map(|identity| Arc::clone(&identity.key))
    }
}

impl Host {
    /// The name that API servers ask for.
    fn server_name(&self) -> String {
        format!("{}.{}.svc", self.service, self.namespace)
    }

    /// All names of the Service, that one first.
    fn names(&self) -> Vec<String> {
        let name = self.server_name();
        let full = format!("{name}.{}", self.cluster_domain);
        vec![name, full, format!("{}.{}", self.service, self.namespace), self.service.clone()]
    }

    /// The port that API servers ask for.
    fn port(&self) -> u16 {
        self.external.as_ref().map_or(asb_types::crd::WEBHOOK_PORT, |external| external.port)
    }
}
