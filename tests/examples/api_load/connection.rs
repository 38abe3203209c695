//! The way to a server: HTTP/1.1 over TLS, one connection per client, or a call within the process.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use kube::client::ConfigExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

/// Where connections come from.
#[derive(Clone)]
pub(crate) enum Door {
    At { address: String, host: String, tls: TlsConnector },
    Within(kube::Client),
}

/// An answer, from wherever it comes.
pub(crate) type Body = UnsyncBoxBody<Bytes, anyhow::Error>;

/// What one client talks through.
pub(crate) enum Connection {
    At { sender: SendRequest<Full<Bytes>>, host: String },
    Within(kube::Client),
}

impl Door {
    pub(crate) async fn at(kubeconfig: &Path) -> Result<Self> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig).context("reading the kubeconfig")?;
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        let tls = TlsConnector::from(Arc::new(config.rustls_client_config()?));
        let host = config.cluster_url.host().context("a server without a name")?.to_owned();
        let port = config.cluster_url.port_u16().unwrap_or(443);
        Ok(Self::At { address: format!("{host}:{port}"), host, tls })
    }

    pub(crate) async fn connect(&self) -> Result<Connection> {
        let Self::At { address, host, tls } = self else {
            let Self::Within(client) = self else { unreachable!("there are two") };
            return Ok(Connection::Within(client.clone()));
        };
        let stream = TcpStream::connect(address).await.context("connecting")?;
        stream.set_nodelay(true)?;
        let stream = tls.connect(ServerName::try_from(host.clone())?, stream).await.context("TLS")?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Connection::At { sender, host: host.clone() })
    }
}

/// A request without a body says what it wants by its path alone.
pub(crate) struct Call {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) media: &'static str,
    pub(crate) body: Bytes,
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

    fn request<B>(&self, host: &str, body: B) -> Result<Request<B>> {
        let request = Request::builder().method(self.method).uri(&self.path).header(header::HOST, host);
        let request = request.header(header::ACCEPT, "application/json").header(header::USER_AGENT, "load/1");
        request.header(header::CONTENT_TYPE, self.media).body(body).context("a request")
    }
}

impl Connection {
    /// Makes a call and takes the whole answer, which must be a good one; returns how long it is.
    pub(crate) async fn call(&mut self, call: &Call) -> Result<usize> {
        let (status, mut body) = self.open(call).await?;
        let mut length = 0;
        while let Some(bytes) = next(&mut body).await? {
            length += bytes.len();
            ensure!(
                status.is_success(),
                "{} {}: {}",
                call.method,
                call.path,
                String::from_utf8_lossy(&bytes)
            );
        }
        Ok(length)
    }

    /// Makes a call whose answer comes by and by.
    pub(crate) async fn open(&mut self, call: &Call) -> Result<(StatusCode, Body)> {
        Ok(match self {
            Self::At { sender, host } => {
                sender.ready().await?;
                let request = call.request(host, Full::new(call.body.clone()))?;
                let response = sender.send_request(request).await?;
                (response.status(), response.into_body().map_err(anyhow::Error::from).boxed_unsync())
            }
            Self::Within(client) => {
                let request = call.request("", kube::client::Body::from(call.body.to_vec()))?;
                let response = client.send(request).await?;
                (response.status(), response.into_body().map_err(anyhow::Error::from).boxed_unsync())
            }
        })
    }
}

/// The next bytes of an answer; none after its end.
pub(crate) async fn next(body: &mut Body) -> Result<Option<Bytes>> {
    while let Some(frame) = body.frame().await {
        if let Ok(bytes) = frame?.into_data() {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}
