//! The certificates of a running server: opened with its directory, shown to whoever connects, renewed before they end.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use tokio_rustls::TlsAcceptor;

use crate::security::authentication::Tokens;
use crate::security::certificates::{Certificates, Error, ServerNames, host_name, kubeconfig};

/// Who signs tokens, as the tokens say.
const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// The first address of those that Services get, under which Pods would look for the server.
const SERVICE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 96, 0, 1));

/// How often to look whether something is due.
const LOOK: Duration = Duration::from_hours(1);

pub(super) struct Identity {
    folder: PathBuf,
    kubeconfig: PathBuf,
    address: SocketAddr,
    current: RwLock<Current>,
    authority: String,
}

struct Current {
    acceptor: TlsAcceptor,
    renewal: Timestamp,
}

impl Identity {
    /// Opens what is in the data directory, makes what is missing, and writes the kubeconfig.
    pub(super) fn open(data_dir: &Path, address: SocketAddr) -> Result<(Self, Tokens), Error> {
        let (folder, file) = (data_dir.join("pki"), data_dir.join("kubeconfig"));
        let certificates = Certificates::open(&folder, &names(address), Timestamp::now())?;
        let tokens = Tokens::new(certificates.signing_key(), ISSUER);
        let this = Self {
            current: RwLock::new(Current::new(&certificates)?),
            authority: certificates.authority_pem(),
            folder,
            kubeconfig: file,
            address,
        };
        this.publish(&certificates)?;
        Ok((this, tokens))
    }

    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    /// For the next connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.current.read().unwrap_or_else(PoisonError::into_inner).acceptor.clone()
    }

    /// Keeps the certificates fresh for as long as the server runs.
    pub(super) async fn renew(&self) {
        let mut look = tokio::time::interval(LOOK);
        loop {
            look.tick().await;
            if let Err(error) = self.renew_if_due(Timestamp::now()) {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "certificates could not be renewed"
                );
            }
        }
    }

    fn renew_if_due(&self, now: Timestamp) -> Result<(), Error> {
        if now < self.current.read().unwrap_or_else(PoisonError::into_inner).renewal {
            return Ok(());
        }
        let certificates = Certificates::open(&self.folder, &names(self.address), now)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Current::new(&certificates)?;
        self.publish(&certificates)
    }

    fn publish(&self, certificates: &Certificates) -> Result<(), Error> {
        kubeconfig::write(
            &self.kubeconfig,
            &certificates.kubeconfig(&format!("https://{}", reached_at(self.address))),
        )
    }
}

impl Current {
    fn new(certificates: &Certificates) -> Result<Self, Error> {
        let acceptor = TlsAcceptor::from(Arc::new(certificates.server_config()?));
        Ok(Self { acceptor, renewal: certificates.renewal() })
    }
}

fn names(address: SocketAddr) -> ServerNames {
    let names = ServerNames::new([address.ip(), SERVICE]);
    host_name().iter().fold(names, |names, host| names.with_name(host))
}

/// A server that listens everywhere is reached from here at home.
fn reached_at(address: SocketAddr) -> SocketAddr {
    let home: IpAddr = if address.is_ipv4() {
        std::net::Ipv4Addr::LOCALHOST.into()
    } else {
        std::net::Ipv6Addr::LOCALHOST.into()
    };
    if address.ip().is_unspecified() { SocketAddr::new(home, address.port()) } else { address }
}
