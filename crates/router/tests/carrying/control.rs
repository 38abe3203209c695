//! The API server of a world, and the way to it: it can go away, fall silent, and come back with what it knew.

use std::io;

use asb_apiserver::server::{Config, Server};
use asb_apiserver::streaming::NoPods;
use http::Request;
use kube::Client;
use kube::client::Body;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::BoxError;

use crate::world::PATIENCE;

/// What whoever asks it meets.
#[derive(Clone)]
enum Line {
    Up(Client),
    /// Nobody is there.
    Refused,
    /// Somebody is there and says nothing.
    Silent,
}

pub(crate) struct Control {
    folder: TempDir,
    line: watch::Sender<Line>,
    serving: Option<(CancellationToken, JoinHandle<()>)>,
}

impl Control {
    pub(crate) async fn start() -> Self {
        let (line, _) = watch::channel(Line::Refused);
        let mut control = Self { folder: tempfile::tempdir().expect("a folder"), line, serving: None };
        control.come_back().await;
        control
    }

    /// A client that stays the same whatever becomes of the server.
    pub(crate) fn client(&self) -> Client {
        let line = self.line.subscribe();
        let service = tower::service_fn(move |request: Request<Body>| {
            let line = line.borrow().clone();
            async move {
                match line {
                    Line::Up(client) => client.send(request).await.map_err(BoxError::from),
                    Line::Refused => Err(io::Error::from(io::ErrorKind::ConnectionRefused).into()),
                    Line::Silent => std::future::pending().await,
                }
            }
        });
        Client::new(service, "default")
    }

    /// It ends, and with it everything that was being watched.
    pub(crate) async fn go_away(&mut self) {
        self.line.send_replace(Line::Refused);
        let (stop, serving) = self.serving.take().expect("it is there");
        stop.cancel();
        tokio::time::timeout(PATIENCE, serving).await.expect("it ends").expect("well");
    }

    pub(crate) fn fall_silent(&self) {
        self.line.send_replace(Line::Silent);
    }

    pub(crate) async fn come_back(&mut self) {
        let listen = ([127, 0, 0, 1], 0).into();
        let config = Config { data_dir: self.folder.path().into(), listen, admin_token: None };
        let opened = async {
            loop {
                // Whoever still had a question holds the old one's files for a moment.
                if let Ok(server) = Server::open(&config, NoPods).await {
                    return server;
                }
                tokio::task::yield_now().await;
            }
        };
        let server = tokio::time::timeout(PATIENCE, opened).await.expect("a server");
        self.line.send_replace(Line::Up(server.client()));
        let stop = CancellationToken::new();
        self.serving = Some((stop.clone(), tokio::spawn(server.run(stop))));
    }
}
