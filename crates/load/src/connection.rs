//! The way to a server: HTTP/1.1 over TLS, one request at a time on each connection.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Response, header};
use hyper_util::rt::TokioIo;
use kube::client::ConfigExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

/// Where connections come from.
#[derive(Clone)]
pub(crate) struct Door {
    address: String,
    host: String,
    tls: TlsConnector,
}

pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
}

/// A request that is ready to be sent.
pub(crate) struct Call {
    method: &'static str,
    pub(crate) path: String,
    media: &'static str,
    body: Bytes,
}

/// Who to be, and to whom.
pub(crate) async fn config(kubeconfig: &Path) -> Result<kube::Config> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).context("reading the kubeconfig")?;
    Ok(kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
}

impl Door {
    pub(crate) async fn at(kubeconfig: &Path) -> Result<Self> {
        let config = config(kubeconfig).await?;
        let tls = TlsConnector::from(Arc::new(config.rustls_client_config()?));
        let host = config.cluster_url.host().context("a server without a name")?.to_owned();
        let port = config.cluster_url.port_u16().unwrap_or(443);
        Ok(Self { address: format!("{host}:{port}"), host, tls })
    }

    pub(crate) async fn connect(&self) -> Result<Connection> {
        let stream = TcpStream::connect(&self.address).await.context("connecting")?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from(self.host.clone())?;
        let stream = self.tls.connect(name, stream).await.context("TLS")?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Connection { sender, host: self.host.clone() })
    }
}

impl Call {
    pub(crate) fn get(path: String) -> Self {
        Self { method: "GET", path, media: "application/json", body: Bytes::new() }
    }

    pub(crate) fn create(path: &str, body: String) -> Self {
        Self { method: "POST", path: path.to_owned(), media: "application/json", body: body.into() }
    }

    pub(crate) fn merge(path: String, body: String) -> Self {
        Self { method: "PATCH", path, media: "application/merge-patch+json", body: body.into() }
    }
}

impl Connection {
    /// Makes a call whose answer comes by and by.
    pub(crate) async fn open(&mut self, call: &Call) -> Result<Response<Incoming>> {
        self.sender.ready().await?;
        let request = Request::builder()
            .method(call.method)
            .uri(&call.path)
            .header(header::HOST, &self.host)
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, "load/1")
            .header(header::CONTENT_TYPE, call.media)
            .body(Full::new(call.body.clone()))
            .context("a request")?;
        Ok(self.sender.send_request(request).await?)
    }

    /// Makes a call and takes the whole answer, which must be a good one.
    pub(crate) async fn call(&mut self, call: &Call) -> Result<Bytes> {
        let response = self.open(call).await?;
        let status = response.status();
        let bytes = response.into_body().collect().await?.to_bytes();
        let said = || String::from_utf8_lossy(&bytes);
        ensure!(status.is_success(), "{} {}: {status}: {}", call.method, call.path, said());
        Ok(bytes)
    }

    pub(crate) async fn get(&mut self, path: String) -> Result<Bytes> {
        self.call(&Call::get(path)).await
    }
}

/// The next bytes of an answer; none after its end.
pub(crate) async fn next(body: &mut Incoming) -> Result<Option<Bytes>> {
    while let Some(frame) = body.frame().await {
        if let Ok(bytes) = frame?.into_data() {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}
