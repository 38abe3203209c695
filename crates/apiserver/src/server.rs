//! The API server: a store, its rules and controllers behind HTTP, over TLS for everybody and directly for the program
//! that it is part of. Both ways lead through the same handler.

mod bootstrap;
mod collection;
mod endpoints;
mod events;
mod gate;
mod handler;
mod identity;
mod limits;
mod listener;
mod metrics;
mod patience;
mod reply;
mod resources;
mod strangers;
mod streams;

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::http::Request;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::Api;
use crate::controllers::{Controllers, serve_definitions};
use crate::security::authentication::{AdminToken, Authenticator};
use crate::security::certificates;
use crate::status::Status;
use crate::store::{self, Store};
use crate::streaming::{PodStreams, Streaming};
use gate::Gate;
use handler::Peer;
use identity::Identity;
use limits::Limits;
use streams::Streams;

/// The file with all objects, inside the data directory.
const STORE: &str = "objects.redb";

/// Where a server keeps things and listens.
#[derive(Clone, Debug)]
pub struct Config {
    pub data_dir: PathBuf,
    /// Port 0 takes one that is free.
    pub listen: SocketAddr,
    /// A bearer token of the administrator, for clients that cannot use a certificate.
    pub admin_token: Option<String>,
}

#[derive(Debug, Error)]
pub enum Error {
    #[error("cannot use the data directory {}", .0.display())]
    Directory(PathBuf, #[source] std::io::Error),
    #[error("the token of the administrator must be at least 32 visible characters")]
    Token,
    #[error("cannot open the store")]
    Store(#[from] store::OpenError),
    #[error("cannot prepare certificates")]
    Certificates(#[from] certificates::Error),
    #[error("cannot listen on {0}")]
    Listen(SocketAddr, #[source] std::io::Error),
    #[error("cannot prepare what every cluster has: {0}")]
    Bootstrap(Status),
}

/// A server that is ready to answer.
pub struct Server {
    shared: Arc<Shared>,
    identity: Arc<Identity>,
    listener: TcpListener,
}

/// What every request needs.
pub(crate) struct Shared {
    api: Arc<Api>,
    controllers: Controllers,
    gate: Gate,
    limits: Limits,
    streams: Box<dyn Streams>,
    stop: CancellationToken,
    /// Requests that change something. They outlive the connections that they came by.
    changes: TaskTracker,
    address: OnceLock<SocketAddr>,
}

impl Shared {
    /// Where the server is reached, for clients that ask.
    fn address(&self) -> String {
        self.address.get().map(SocketAddr::to_string).unwrap_or_default()
    }
}

impl Server {
    /// Opens the data directory, makes what is missing, and binds the address. Nothing is answered before [`Self::run`].
    pub async fn open(config: &Config, pods: impl PodStreams) -> Result<Self, Error> {
        let Config { data_dir, listen, admin_token } = config;
        let admin =
            admin_token.as_deref().map(|token| AdminToken::new(token).ok_or(Error::Token)).transpose()?;
        prepare(data_dir).map_err(|error| Error::Directory(data_dir.clone(), error))?;
        let api = Arc::new(Api::new(Store::open(&data_dir.join(STORE))?));
        let listener = TcpListener::bind(listen).await.map_err(|error| Error::Listen(*listen, error))?;
        let address = listener.local_addr().map_err(|error| Error::Listen(*listen, error))?;
        let (identity, tokens) = Identity::open(data_dir, address)?;
        bootstrap::run(&api).await.map_err(Error::Bootstrap)?;
        // A status that cannot be written now is written by the controllers, which say so if it cannot.
        let _ = serve_definitions(&api).await;
        let gate = Gate::new(&api, Authenticator { tokens, admin });
        let controllers = Controllers::start(&api, identity.authority());
        let shared = Arc::new(Shared {
            api,
            controllers,
            gate,
            limits: Limits::default(),
            streams: Box::new(Streaming::new(pods)),
            stop: CancellationToken::new(),
            changes: TaskTracker::new(),
            address: OnceLock::from(address),
        });
        Ok(Self { shared, identity: Arc::new(identity), listener })
    }

    pub fn address(&self) -> SocketAddr {
        self.shared.address.get().copied().unwrap_or_else(|| unreachable!("set when it was made"))
    }

    /// A client of this server that needs no socket, and may do everything.
    pub fn client(&self) -> kube::Client {
        let shared = Arc::clone(&self.shared);
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let answer = handler::handle(Arc::clone(&shared), Peer::program(), request.map(Body::new));
            async move { Ok::<_, std::convert::Infallible>(answer.await) }
        });
        kube::Client::new(service, "default")
    }

    /// Answers until the token is cancelled, and then ends every stream, watch and controller.
    pub async fn run(self, stop: CancellationToken) {
        let Self { shared, identity, listener } = self;
        tokio::select! {
            () = listener::serve(&shared, &identity, listener, stop) => {}
            () = identity.renew() => {}
        }
        shared.stop.cancel();
        shared.streams.stop().await;
        shared.changes.close();
        // Only a disk that does not answer takes this long, and nobody was told that such a change is made.
        let _ = tokio::time::timeout(listener::GOODBYE, shared.changes.wait()).await;
        shared.controllers.stop().await;
    }
}

/// The directory holds keys: nobody else may look. What is made on the way to it is there after a power loss too.
pub fn prepare(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let directory = std::path::absolute(directory)?;
    let missing: Vec<&Path> = directory.ancestors().take_while(|it| !it.exists()).collect();
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
    let folders = missing.into_iter().filter_map(Path::parent);
    folders.map(File::open).try_for_each(|folder| folder?.sync_all())
}

#[cfg(test)]
mod tests;
