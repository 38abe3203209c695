//! What the proxies have in common: who they are to clients, where they listen, and the sandbox that requests are for.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// The Sandbox that everything is for.
pub(super) const SANDBOX: &str = "bench";

const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);

/// Where one listens.
#[derive(Clone, Copy)]
pub(super) struct Doors {
    pub(super) plain: SocketAddr,
    pub(super) secure: SocketAddr,
}

/// What it shows to clients that come by TLS.
pub(super) struct Identity {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

impl Identity {
    pub(super) fn make(folder: &Path) -> Result<Self> {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
        let identity = Self { certificate: folder.join("tls.crt"), key: folder.join("tls.key") };
        fs::write(&identity.certificate, made.cert.pem()).context("writing a certificate")?;
        fs::write(&identity.key, made.signing_key.serialize_pem()).context("writing a key")?;
        Ok(identity)
    }
}

/// Until somebody listens there.
pub(super) fn wait_for(address: SocketAddr) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_) => return Ok(()),
            Err(_) if Instant::now() < deadline => sleep(PAUSE),
            Err(error) => return Err(error).with_context(|| format!("nobody listens at {address}")),
        }
    }
}
