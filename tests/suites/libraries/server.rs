//! The whole API server in this process, and the two ways to it.

use std::net::Ipv4Addr;

use asb_apiserver::server::{self, Config};
use asb_apiserver::streaming::NoPods;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tempfile::TempDir;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A server that ends with this value.
pub(crate) struct Server {
    direct: Client,
    directory: TempDir,
    _stop: DropGuard,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory for the server");
        let listen = (Ipv4Addr::LOCALHOST, 0).into();
        let config = Config { data_dir: directory.path().join("data"), listen, admin_token: None };
        let server = server::Server::open(&config, NoPods).await.expect("the server opens");
        let (direct, stop) = (server.client(), CancellationToken::new());
        tokio::spawn(server.run(stop.clone()));
        Self { direct, directory, _stop: stop.drop_guard() }
    }

    /// The client that needs no socket, and one that goes through it.
    pub(crate) async fn clients(&self) -> [Client; 2] {
        let kubeconfig = Kubeconfig::read_from(self.directory.path().join("data/kubeconfig"));
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig.expect("it is written"), &options).await;
        [self.direct.clone(), Client::try_from(config.expect("it is whole")).expect("a client")]
    }
}
