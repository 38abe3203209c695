//! Sends requests and follows where answers lead, without taking credentials along or leaving HTTPS.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::time::timeout;

use super::error::RegistryError;
use super::settings::{Endpoint, Security, Settings};
use super::trust;

const REDIRECTS: usize = 6;
const AGENT: &str = concat!("asb/", env!("CARGO_PKG_VERSION"));

type Http = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Connections, kept apart by how far they are trusted.
pub struct Transports {
    connect: Duration,
    stall: Duration,
    clients: Mutex<HashMap<(Security, Option<PathBuf>), Http>>,
}

#[derive(Clone)]
pub(super) struct Transport {
    http: Http,
    security: Security,
    pub(super) stall: Duration,
}

/// A request that can be sent again elsewhere.
#[derive(Clone)]
pub(super) struct Outgoing {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Transports {
    pub fn new(settings: &Settings) -> Self {
        Self {
            connect: Duration::from_secs(settings.connect_seconds),
            stall: Duration::from_secs(settings.stall_seconds),
            clients: Mutex::default(),
        }
    }

    pub(super) fn to(&self, endpoint: &Endpoint) -> io::Result<Transport> {
        let key = (endpoint.security, endpoint.authorities.clone());
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let http = match clients.get(&key) {
            Some(client) => client.clone(),
            None => clients.entry(key).or_insert(self.client(endpoint)?).clone(),
        };
        Ok(Transport { http, security: endpoint.security, stall: self.stall })
    }

    fn client(&self, endpoint: &Endpoint) -> io::Result<Http> {
        let tls = trust::configuration(endpoint.security, endpoint.authorities.as_deref())?;
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(self.connect));
        connector.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        Ok(Client::builder(TokioExecutor::new()).build(connector))
    }
}

impl Transport {
    /// Sends a request, and again to wherever it is sent on.
    pub(super) async fn send(&self, mut outgoing: Outgoing) -> Result<Response<Incoming>, RegistryError> {
        for _ in 0..REDIRECTS {
            let host = host(&outgoing.uri);
            let response = self.once(&host, &outgoing).await?;
            if !is_redirect(response.status()) {
                return Ok(response);
            }
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let location =
                location.ok_or_else(|| RegistryError::protocol(&host, "a redirection to nowhere"))?;
            let next = resolve(&outgoing.uri, location)
                .ok_or_else(|| RegistryError::protocol(&host, "a redirection to nowhere"))?;
            self.may_go(&outgoing.uri, &next)?;
            if next.authority() != outgoing.uri.authority() || next.scheme() != outgoing.uri.scheme() {
                outgoing.headers.remove(AUTHORIZATION);
            }
            outgoing.uri = next;
        }
        Err(RegistryError::protocol(&host(&outgoing.uri), "redirections without end"))
    }

    /// What was meant to be protected stays so.
    fn may_go(&self, from: &Uri, to: &Uri) -> Result<(), RegistryError> {
        let leaves = from.scheme_str() == Some("https") && to.scheme_str() != Some("https");
        if leaves && self.security != Security::Plain {
            return Err(RegistryError::protocol(&host(from), "a redirection out of HTTPS"));
        }
        Ok(())
    }

    async fn once(&self, host: &str, outgoing: &Outgoing) -> Result<Response<Incoming>, RegistryError> {
        let mut request = Request::new(Full::new(outgoing.body.clone()));
        *request.method_mut() = outgoing.method.clone();
        *request.uri_mut() = outgoing.uri.clone();
        *request.headers_mut() = outgoing.headers.clone();
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(AGENT));
        request.headers_mut().remove(HOST);
        let Ok(answer) = timeout(self.stall, self.http.request(request)).await else {
            let reason = format!("no answer within {} seconds", self.stall.as_secs());
            return Err(RegistryError::Unreachable { host: host.to_owned(), reason });
        };
        answer.map_err(|error| RegistryError::unreachable(host, &error))
    }
}

pub(super) fn host(uri: &Uri) -> String {
    uri.authority().map(ToString::to_string).unwrap_or_default()
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn resolve(from: &Uri, location: &str) -> Option<Uri> {
    let absolute = if location.starts_with("//") {
        format!("{}:{location}", from.scheme_str()?)
    } else if location.starts_with('/') {
        format!("{}://{}{location}", from.scheme_str()?, from.authority()?)
    } else {
        location.to_owned()
    };
    let uri: Uri = absolute.parse().ok()?;
    (matches!(uri.scheme_str(), Some("http" | "https")) && uri.authority().is_some()).then_some(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirections_lead_to_full_addresses() {
        let from: Uri = "https://a.b:5000/v2/x".parse().unwrap();
        let to = |location| resolve(&from, location).map(|uri| uri.to_string());
        assert_eq!(to("/v2/y?z=1").as_deref(), Some("https://a.b:5000/v2/y?z=1"));
        assert_eq!(to("//c.d/y").as_deref(), Some("https://c.d/y"));
        assert_eq!(to("http://c.d/y").as_deref(), Some("http://c.d/y"));
        for nowhere in ["file:///etc/passwd", "ftp://a/b", "", "y"] {
            assert_eq!(to(nowhere), None, "{nowhere}");
        }
    }
}
