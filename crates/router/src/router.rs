//! The router as a whole: what it follows, where it listens, and how it ends.

use std::sync::Arc;

use asb_core::object::Key;
use kube::Client;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::authorization::{Authority, Caller};
use crate::carrier::Carrier;
use crate::entrance::{Entrance, Peer, RuntimeTokens};
use crate::follow::{Follower, follow};
use crate::limits::Limits;
use crate::listener::{self, Door, Origin};
use crate::metrics::Metrics;
use crate::settings::Settings;
use crate::tls::{BadTls, Shown, Tls};
use crate::token::PrivateKey;
use crate::tunnel::Tunnel;

/// A router that is to be run.
pub struct Router {
    entrance: Arc<Entrance>,
    follower: Follower,
    doors: Vec<Door>,
    stop: CancellationToken,
}

/// What others may do with a router that runs.
#[derive(Clone)]
pub struct Handle {
    entrance: Arc<Entrance>,
    stop: CancellationToken,
}

impl Router {
    /// Reads Sandboxes through `client`; shows tokens to their runtimes where it has a key.
    pub fn new(client: Client, settings: Settings, authority: Authority, key: Option<PrivateKey>) -> Self {
        let (follower, directory) = follow(client, &settings);
        let metrics = Arc::new(Metrics::default());
        let stop = CancellationToken::new();
        let entrance = Entrance {
            carrier: Carrier::new(&settings, Arc::clone(&metrics)),
            limits: Limits::new(settings.requests_per_client),
            runtime_tokens: key.map(RuntimeTokens::new),
            joined: TaskTracker::new(),
            stop: stop.clone(),
            settings,
            followed: directory,
            authority,
            metrics,
        };
        Self { entrance: Arc::new(entrance), follower, doors: Vec::new(), stop }
    }

    /// Lets connections in here. Whoever comes in by TLS sees the certificate.
    pub fn listen(&mut self, listener: TcpListener, caller: Caller, tls: Option<Tls>) -> Result<(), BadTls> {
        let tls = tls.map(Shown::open).transpose()?.map(Arc::new);
        self.doors.push(Door { listener, tls, origin: Origin::Known(caller) });
        Ok(())
    }

    /// Lets in here what the API server forwards: `listener` is at the loopback of the router's Pod.
    pub fn listen_for_tunnels(&mut self, listener: TcpListener, tunnel: Tunnel) {
        let origin = Origin::Tunnel(Arc::new(tunnel));
        self.doors.push(Door { listener, tls: None, origin });
    }

    pub fn handle(&self) -> Handle {
        Handle { entrance: Arc::clone(&self.entrance), stop: self.stop.clone() }
    }

    /// Until it is told to stop, and those who are at it have ended or had their time.
    pub async fn run(self, stop: CancellationToken) {
        let Self { entrance, follower, doors, stop: own } = self;
        let following = CancellationToken::new();
        let tasks = TaskTracker::new();
        tasks.spawn(follower.run(following.clone()));
        let room = Arc::new(Semaphore::new(entrance.settings.connections));
        for door in doors {
            if let Some(tls) = door.tls.clone() {
                let (entrance, following) = (Arc::clone(&entrance), following.clone());
                tasks.spawn(async move {
                    following.run_until_cancelled(tls.keep_fresh(&entrance.metrics)).await;
                });
            }
            tasks.spawn(listener::serve(door, Arc::clone(&entrance), Arc::clone(&room), own.clone()));
        }
        stop.cancelled().await;
        own.cancel();
        entrance.joined.close();
        following.cancel();
        tasks.close();
        tasks.wait().await;
        entrance.joined.wait().await;
    }
}

impl Handle {
    /// Serves a connection that somebody else accepted and vouches for.
    pub fn accept<S>(&self, stream: S, caller: Caller)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let serving =
            listener::converse(stream, Peer::of(caller), Arc::clone(&self.entrance), self.stop.clone());
        self.entrance.joined.spawn(serving);
    }

    /// Whether it knows all Sandboxes, and goes on.
    pub fn is_ready(&self) -> bool {
        self.entrance.followed.is_whole() && !self.stop.is_cancelled()
    }

    pub async fn wait_until_ready(&self) {
        self.entrance.followed.clone().wait_until_whole().await;
    }

    /// Whether it has heard of this Sandbox.
    pub fn knows(&self, namespace: &str, name: &str) -> bool {
        let key = Key::new(namespace, name);
        self.entrance.followed.read(|directory| directory.get(&key).is_some())
    }

    pub fn metrics(&self) -> &Metrics {
        &self.entrance.metrics
    }
}
