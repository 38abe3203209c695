//! What of a request's head goes on to the Sandbox: its path as it was sent, and its headers without those that were for the
//! router or for the connection.

use std::net::{IpAddr, SocketAddr};

use asb_core::route::{Asked, Field};
use http::header::{
    AUTHORIZATION, CONNECTION, COOKIE, FORWARDED, HOST, ORIGIN, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING,
    UPGRADE,
};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, Version, request};

use crate::preview;
use crate::refusal::Refusal;

const FOR_US: &str = "x-sandbox-";
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const RUNTIME_TOKEN: HeaderName = HeaderName::from_static("x-sandboxd-token");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// What a request says about the Sandbox that it is for.
pub(crate) fn asked<'a>(request: &'a request::Parts, domain: Option<&'a str>) -> Asked<'a> {
    let field = |name: &'static str| single(&request.headers, name);
    Asked {
        id: field("x-sandbox-id"),
        namespace: field("x-sandbox-namespace"),
        port: field("x-sandbox-port"),
        pod_ip: field("x-sandbox-pod-ip"),
        uid: field("x-sandbox-uid"),
        timeout: field("x-sandbox-timeout"),
        host: host(&request.uri, &request.headers),
        path: request.uri.path(),
        domain,
    }
}

/// The host that was asked for: of the request itself, or of its header.
pub(crate) fn host<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    uri.host().or_else(|| match single(headers, "host") {
        Field::One(host) => Some(host),
        _ => None,
    })
}

fn single<'a>(headers: &'a HeaderMap, name: &'static str) -> Field<'a> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Field::Absent,
        (Some(value), None) => value.to_str().map_or(Field::Unclear, Field::One),
        (Some(_), Some(_)) => Field::Unclear,
    }
}

/// The token of `Authorization: Bearer …`, if there is one.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let Field::One(value) = single(headers, "authorization") else { return None };
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Whether the client wants to speak something else on this connection.
pub(crate) fn is_upgrade<B>(request: &Request<B>) -> bool {
    request.version() < Version::HTTP_2
        && request.headers().contains_key(UPGRADE)
        && tokens(request.headers(), &CONNECTION).any(|token| token.eq_ignore_ascii_case("upgrade"))
}

/// gRPC needs HTTP/2 all the way.
pub(crate) fn is_grpc<B>(request: &Request<B>) -> bool {
    let kind = request.headers().get(http::header::CONTENT_TYPE);
    request.version() == Version::HTTP_2
        && kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

/// Where a request came from, and how it goes on.
pub(crate) struct Onward<'a> {
    pub target: SocketAddr,
    /// The path, where it is not the request's.
    pub path: Option<&'a str>,
    pub client: Option<IpAddr>,
    pub is_secure: bool,
    pub runtime_token: Option<&'a str>,
}

impl Onward<'_> {
    /// Changes the head of a request into the one for the Sandbox.
    pub(crate) fn apply<B>(
        &self,
        request: &mut Request<B>,
        as_http2: bool,
        upgrade: bool,
    ) -> Result<(), Refusal> {
        let host = request.headers().get(HOST).cloned();
        let host = host.or_else(|| {
            request.uri().authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok())
        });
        *request.uri_mut() = self.uri(request.uri())?;
        *request.version_mut() = if as_http2 { Version::HTTP_2 } else { Version::HTTP_11 };
        let headers = request.headers_mut();
        clean(headers, upgrade);
        if let Some(host) = host {
            headers.insert(FORWARDED_HOST, host);
        }
        let scheme = if self.is_secure { "https" } else { "http" };
        headers.insert(FORWARDED_PROTO, HeaderValue::from_static(scheme));
        if let Some(client) = self.client.and_then(|client| HeaderValue::from_str(&client.to_string()).ok()) {
            headers.insert(FORWARDED_FOR, client);
        }
        if let Some(token) = self.runtime_token.and_then(|token| HeaderValue::from_str(token).ok()) {
            headers.insert(RUNTIME_TOKEN, token);
        }
        Ok(())
    }

    fn uri(&self, from: &Uri) -> Result<Uri, Refusal> {
        let path = match (self.path, from.query()) {
            (None, _) => from.path_and_query().map_or("/", PathAndQuery::as_str).to_owned(),
            (Some(path), None) => path.to_owned(),
            (Some(path), Some(query)) => format!("{path}?{query}"),
        };
        let path = preview::without_token(path);
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(Scheme::HTTP);
        parts.authority = Authority::try_from(self.target.to_string()).ok();
        parts.path_and_query = Some(PathAndQuery::try_from(path).map_err(|_| Refusal::Nonsense)?);
        Uri::from_parts(parts).map_err(|_| Refusal::Nonsense)
    }
}

/// Takes out what was for us or for this connection. `TE: trailers` stays: gRPC servers ask for it.
fn clean(headers: &mut HeaderMap, upgrade: bool) {
    let named: Vec<HeaderName> =
        tokens(headers, &CONNECTION).filter_map(|token| HeaderName::try_from(token).ok()).collect();
    let wants_trailers = tokens(headers, &TE).any(|token| token.eq_ignore_ascii_case("trailers"));
    let protocol = headers.get(UPGRADE).cloned().filter(|_| upgrade);
    let ours: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with(FOR_US)).cloned().collect();
    let fixed = [
        CONNECTION,
        KEEP_ALIVE,
        PROXY_AUTHORIZATION,
        PROXY_CONNECTION,
        TE,
        TRANSFER_ENCODING,
        UPGRADE,
        HOST,
        AUTHORIZATION,
        FORWARDED,
        FORWARDED_FOR,
        RUNTIME_TOKEN,
    ];
    for name in fixed.into_iter().chain(named).chain(ours) {
        headers.remove(name);
    }
    if wants_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    if let Some(protocol) = protocol {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, protocol);
        headers.remove(ORIGIN);
    }
    let kept = headers.get(COOKIE).map(|cookie| (cookie.clone(), preview::without_cookie(cookie)));
    match kept {
        Some((was, Some(is))) if was != is => drop(headers.insert(COOKIE, is)),
        Some((_, None)) => drop(headers.remove(COOKIE)),
        _ => {}
    }
}

/// What of an answer's head goes back to the client.
pub(crate) fn returned(headers: &mut HeaderMap, upgrade: bool) {
    if upgrade {
        return;
    }
    let named: Vec<HeaderName> =
        tokens(headers, &CONNECTION).filter_map(|token| HeaderName::try_from(token).ok()).collect();
    for name in
        [CONNECTION, KEEP_ALIVE, PROXY_CONNECTION, TRANSFER_ENCODING, UPGRADE].into_iter().chain(named)
    {
        headers.remove(name);
    }
}

fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn onward<'a>() -> Onward<'a> {
        Onward {
            target: "10.1.0.7:8888".parse().expect("an address"),
            path: None,
            client: Some("192.0.2.9".parse().expect("an address")),
            is_secure: false,
            runtime_token: None,
        }
    }

    fn sent(request: request::Builder, upgrade: bool) -> Request<()> {
        let mut request = request.body(()).expect("a request");
        onward().apply(&mut request, false, upgrade).expect("sensible");
        request
    }

    #[test]
    fn the_path_goes_on_as_it_was_sent() {
        for path in ["/download/a%2Fb%252Fc", "/a/../b?x=%20&y", "/", "/list//x"] {
            let request = sent(Request::get(path), false);
            assert_eq!(request.uri().to_string(), format!("http://10.1.0.7:8888{path}"));
        }
    }

    #[test]
    fn what_was_for_the_router_does_not_go_on() {
        let request = Request::get("/")
            .header("Host", "router.test")
            .header("X-Sandbox-ID", "box")
            .header("X-Sandbox-Anything", "x")
            .header("Authorization", "Bearer secret")
            .header("X-Sandboxd-Token", "forged")
            .header("X-Forwarded-For", "127.0.0.1")
            .header("Forwarded", "for=127.0.0.1")
            .header("Connection", "close, X-Private")
            .header("X-Private", "1")
            .header("Transfer-Encoding", "chunked")
            .header("TE", "trailers, deflate")
            .header("Accept", "text/plain");
        let mut headers: Vec<String> = sent(request, false)
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().expect("text")))
            .collect();
        headers.sort();
        let expected = [
            "accept: text/plain",
            "te: trailers",
            "x-forwarded-for: 192.0.2.9",
            "x-forwarded-host: router.test",
            "x-forwarded-proto: http",
        ];
        assert_eq!(headers, expected);
    }

    #[test]
    fn an_upgrade_stays_one() {
        let request = Request::get("/ws")
            .header("Connection", "keep-alive, Upgrade")
            .header("Upgrade", "websocket")
            .header("Origin", "https://somewhere.test");
        let request = sent(request, true);
        assert_eq!(request.headers()[CONNECTION], "upgrade");
        assert_eq!(request.headers()[UPGRADE], "websocket");
        assert!(!request.headers().contains_key(ORIGIN));
    }

    #[test]
    fn a_header_that_is_there_twice_is_unclear() {
        let request = Request::get("/").header("X-Sandbox-ID", "a").header("x-sandbox-id", "b");
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        assert_eq!(asked(&parts, None).id, Field::Unclear);
    }
}
