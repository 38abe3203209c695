//! An HTTPS server for CRD conversion webhooks, with a certificate authority made for the moment.
//! Knows no conversion: the handler turns one ConversionReview into another.

mod certificate;

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use self::certificate::Identity;

/// A webhook that is being served. It ends when dropped.
pub struct Webhook {
    address: SocketAddr,
    authority: String,
    task: JoinHandle<()>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot listen")]
    Listen(#[source] std::io::Error),
    #[error("cannot make a certificate")]
    Certificate(#[source] rcgen::Error),
    #[error("cannot set up TLS")]
    Tls(#[source] tokio_rustls::rustls::Error),
}

type Handler = dyn Fn(Value) -> Value + Send + Sync;

impl Webhook {
    /// Serves the handler on a free port of 127.0.0.1.
    pub async fn serve(handler: impl Fn(Value) -> Value + Send + Sync + 'static) -> Result<Self, Error> {
        Self::serve_on(Ipv4Addr::LOCALHOST.into(), "localhost", handler).await
    }

    /// Serves the handler on a free port of an address of this machine, where it is also known by a name.
    pub async fn serve_on(
        address: IpAddr,
        name: &str,
        handler: impl Fn(Value) -> Value + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let identity = Identity::issue(vec![address.to_string(), name.to_owned()])?;
        let acceptor = TlsAcceptor::from(identity.server);
        let listener = TcpListener::bind((address, 0)).await.map_err(Error::Listen)?;
        let address = listener.local_addr().map_err(Error::Listen)?;
        let task = tokio::spawn(accept(listener, acceptor, Arc::new(handler)));
        Ok(Self { address, authority: identity.authority, task })
    }

    /// For `clientConfig.url`.
    pub fn url(&self) -> String {
        format!("https://{}/convert", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// For `clientConfig.caBundle`, which wants it in base64.
    pub fn ca_bundle_pem(&self) -> &str {
        &self.authority
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Owns the connections, which end with it.
async fn accept(listener: TcpListener, acceptor: TlsAcceptor, handler: Arc<Handler>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                connections.spawn(converse(stream, acceptor.clone(), handler.clone()));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// One connection. A client that breaks it off knows why; nobody else needs to.
async fn converse(stream: TcpStream, acceptor: TlsAcceptor, handler: Arc<Handler>) {
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let service = service_fn(|request| answer(request, &*handler));
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(request: Request<Incoming>, handler: &Handler) -> Result<Response<Full<Bytes>>, Infallible> {
    let review = request.into_body().collect().await.ok().map(http_body_util::Collected::to_bytes);
    let review = review.and_then(|body| serde_json::from_slice(&body).ok());
    Ok(review.map_or_else(refusal, |review| reply(&handler(review))))
}

fn reply(review: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(review.to_string()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn refusal() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from("the body is no JSON"));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response
}

#[cfg(test)]
mod tests;
