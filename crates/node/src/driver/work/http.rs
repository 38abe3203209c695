//! HTTP as probes and hooks ask it. Nobody's certificate is checked: kubelets do not, and nothing is told to the other side.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::HTTPGetAction;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::full;
use crate::images::registry::unchecked;

const MOST: usize = 10 * 1024;

/// Anything from 200 to 399 is good.
pub(super) async fn get(host: &str, port: u16, action: &HTTPGetAction) -> Result<(), String> {
    let tcp = TcpStream::connect((host, port)).await;
    let tcp = tcp.map_err(|error| {
        format!("Get \"{}\": dial tcp {host}:{port}: connect: {error}", url(host, port, action))
    })?;
    let response = if action.scheme.as_deref() == Some("HTTPS") {
        let name = ServerName::try_from(host.to_owned()).map_err(|error| full(&error))?;
        let config = unchecked().map_err(|error| full(&error))?;
        let tls = TlsConnector::from(Arc::new(config)).connect(name, tcp).await;
        ask(tls.map_err(|error| full(&error))?, host, port, action).await
    } else {
        ask(tcp, host, port, action).await
    };
    let response = response?;
    let status = response.status();
    if status.is_success() || status.is_redirection() {
        return Ok(());
    }
    // Read so that the other side is not cut short while it answers.
    let _ = Limited::new(response.into_body(), MOST).collect().await;
    Err(format!("HTTP probe failed with statuscode: {}", status.as_u16()))
}

fn url(host: &str, port: u16, action: &HTTPGetAction) -> String {
    let scheme = action.scheme.as_deref().unwrap_or("HTTP").to_ascii_lowercase();
    format!("{scheme}://{host}:{port}{}", path(action))
}

fn path(action: &HTTPGetAction) -> String {
    let path = action.path.as_deref().unwrap_or("/");
    if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
}

async fn ask(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    host: &str,
    port: u16,
    action: &HTTPGetAction,
) -> Result<Response<Incoming>, String> {
    let told = |error: hyper::Error| format!("Get \"{}\": {}", url(host, port, action), full(&error));
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(told)?;
    // It ends with the response, or with the probe.
    tokio::spawn(async move { drop(connection.await) });
    sender.send_request(request(host, port, action)?).await.map_err(told)
}

fn request(host: &str, port: u16, action: &HTTPGetAction) -> Result<Request<Empty<Bytes>>, String> {
    let uri: Uri = path(action).parse().map_err(|error| full(&error))?;
    let mut request = Request::get(uri);
    let headers = action.http_headers.iter().flatten();
    let has = |name: &str| {
        action.http_headers.iter().flatten().any(|header| header.name.eq_ignore_ascii_case(name))
    };
    if !has("host") {
        request = request.header(header::HOST, format!("{host}:{port}"));
    }
    if !has("user-agent") {
        request = request
            .header(header::USER_AGENT, concat!("kube-probe/agent-sandbox-", env!("CARGO_PKG_VERSION")));
    }
    if !has("accept") {
        request = request.header(header::ACCEPT, "*/*");
    }
    for header in headers {
        request = request.header(&header.name, &header.value);
    }
    request.body(Empty::new()).map_err(|error| full(&error))
}
