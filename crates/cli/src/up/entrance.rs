//! The router of `asb up`: its key, and where it listens. How clients find it is up to the signs.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use asb_core::sandbox::{RuntimeDelivery, RuntimeSource};
use asb_router::token::{Keys, PrivateKey};
use asb_router::{Authority, Caller, Handle, Router, Settings};
use kube::Client;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::signs;
use crate::streams::Signed;

/// Where it listens if nobody says; a free port where that is taken.
const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8880);

/// The image of the runtime that the node carries.
const RUNTIME: &str = "asb.local/sandboxd";

/// A router that runs.
pub(super) struct Entrance {
    pub(super) handle: Handle,
    pub(super) address: SocketAddr,
    running: JoinHandle<()>,
}

/// The file with the key that lets people in.
pub(crate) fn key_path(data_dir: &Path) -> PathBuf {
    data_dir.join("router").join("key")
}

/// The key of this data directory, made where there is none.
pub(super) fn key(data_dir: &Path) -> Result<PrivateKey> {
    let path = key_path(data_dir);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => make_key(&path)?,
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    PrivateKey::read(&text).with_context(|| format!("the key in {} cannot be used", path.display()))
}

/// Whole or not at all, whenever the machine stops.
fn make_key(path: &Path) -> Result<String> {
    let cannot = || format!("cannot write {}", path.display());
    let folder = path.parent().context("a key is in a directory")?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder).with_context(cannot)?;
    let (text, fresh) = (PrivateKey::generate(), path.with_extension("new"));
    let mut options = OpenOptions::new();
    let mut file =
        options.write(true).create(true).truncate(true).mode(0o600).open(&fresh).with_context(cannot)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).with_context(cannot)?;
    fs::rename(&fresh, path).with_context(cannot)?;
    File::open(folder).and_then(|folder| folder.sync_all()).with_context(cannot)?;
    Ok(text)
}

/// Where Sandboxes get sandboxd from, and whose tokens it takes.
pub(super) fn runtime_source(key: &PrivateKey) -> RuntimeSource {
    RuntimeSource {
        image: RUNTIME.to_owned(),
        delivery: RuntimeDelivery::ImageVolume,
        public_keys: vec![key.public().text()],
    }
}

impl Entrance {
    /// Whoever the API server knows and lets reach a Sandbox gets in, and whoever has a token for it.
    pub(super) async fn open(
        client: Client,
        key: PrivateKey,
        listen: Option<SocketAddr>,
        domain: Option<String>,
        signed: Signed,
        stop: CancellationToken,
    ) -> Result<Self> {
        let listener = match (TcpListener::bind(listen.unwrap_or(USUAL)).await, listen) {
            (Err(error), None) if error.kind() == ErrorKind::AddrInUse => {
                TcpListener::bind(SocketAddr::new(USUAL.ip(), 0)).await
            }
            (bound, _) => bound,
        };
        let listener =
            listener.with_context(|| format!("the router cannot listen on {}", listen.unwrap_or(USUAL)))?;
        let address = listener.local_addr().context("cannot tell where the router listens")?;
        let keys = Keys { public: vec![key.public()], ..Keys::default() };
        let authority = Authority::default().with_keys(keys).with_reviews(client.clone(), Vec::new());
        let settings = Settings { domain, ..Settings::default() };
        let mut router = Router::new(client.clone(), settings, authority, Some(key));
        router.listen(listener, Caller::Stranger, None).context("no certificate is asked for")?;
        let handle = router.handle();
        let (leading, last) = (stop.clone(), stop.clone());
        let running = tokio::spawn(async move {
            // Nobody who starts sandboxes waits for it.
            let signs = leading.run_until_cancelled_owned(signs::keep(client, signed));
            tokio::join!(router.run(last), signs);
        });
        Ok(Self { handle, address, running })
    }

    pub(super) async fn ended(self) -> Result<()> {
        self.running.await.context("the router ended badly")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_directory_stays() {
        let folder = tempfile::tempdir().unwrap();
        let first = key(folder.path()).unwrap().public();
        assert_eq!(key(folder.path()).unwrap().public(), first);
        fs::write(key_path(folder.path()), "nonsense").unwrap();
        assert!(key(folder.path()).is_err(), "a broken key is not replaced in silence");
    }
}
