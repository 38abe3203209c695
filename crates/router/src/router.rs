//! The router as a whole: what it follows, where it listens, and how it ends.

use std::sync::Arc;

use asb_core::object::Key;
use asb_core::route::Entry;
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
}

/// What others may do with a router that runs.
#[derive(Clone)]
pub struct Handle {
    entrance: Arc<Entrance>,
}

impl Router {
    /// Reads Sandboxes through `client`; shows tokens to their runtimes where it has a key.
    pub fn new(client: Client, settings: Settings, authority: Authority, key: Option<PrivateKey>) -> Self {
        let (follower, directory) = follow(client, &settings);
        let metrics = Arc::new(Metrics::default());
        let entrance = Entrance {
            carrier: Carrier::new(&settings, Arc::clone(&metrics)),
            requests: Limits::new(settings.requests_per_client),
            connections: Limits::new(settings.connections_per_client),
            runtime_tokens: key.map(RuntimeTokens::new),
            joined: TaskTracker::new(),
            stop: CancellationToken::new(),
            over: CancellationToken::new(),
            settings,
            followed: directory,
            authority,
            metrics,
        };
        Self { entrance: Arc::new(entrance), follower, doors: Vec::new() }
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
        Handle { entrance: Arc::clone(&self.entrance) }
    }

    /// Until it is told to stop, and those who are at it have ended or had their time.
    pub async fn run(self, stop: CancellationToken) {
        let Self { entrance, follower, doors } = self;
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
            tasks.spawn(listener::serve(door, Arc::clone(&entrance), Arc::clone(&room)));
        }
        stop.cancelled().await;
        entrance.stop.cancel();
        entrance.joined.close();
        following.cancel();
        tasks.close();
        let all = async {
            tasks.wait().await;
            entrance.joined.wait().await;
        };
        tokio::pin!(all);
        if tokio::time::timeout(entrance.settings.goodbye, &mut all).await.is_err() {
            tracing::warn!("requests that did not end in time are cut off");
            entrance.over.cancel();
            all.await;
        }
    }
}

impl Handle {
    /// Serves a connection that somebody else accepted and vouches for.
    pub fn accept<S>(&self, stream: S, caller: Caller)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let serving = listener::converse(stream, Peer::of(caller), Arc::clone(&self.entrance));
        self.entrance.joined.spawn(self.entrance.over.clone().run_until_cancelled_owned(serving));
    }

    /// Whether it knows all Sandboxes, and goes on.
    pub fn is_ready(&self) -> bool {
        self.entrance.followed.is_whole() && !self.entrance.stop.is_cancelled()
    }

    pub async fn wait_until_ready(&self) {
        self.entrance.followed.clone().wait_until_whole().await;
    }

    /// What it has heard of this Sandbox.
    pub fn sandbox(&self, namespace: &str, name: &str) -> Option<Entry> {
        let key = Key::new(namespace, name);
        self.entrance.followed.read(|directory| directory.get(&key).cloned())
    }

    pub fn metrics(&self) -> &Metrics {
        &self.entrance.metrics
    }
}
