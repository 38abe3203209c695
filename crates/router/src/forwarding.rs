//! What of a request's head goes on to the Sandbox: its path as it was sent, and its headers without those that were for the
//! router or for the connection.

mod cleaning;

use std::net::{IpAddr, SocketAddr};

use asb_core::route::{Asked, Field};
use http::header::{CONNECTION, HOST, TRANSFER_ENCODING, UPGRADE};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, Uri, Version, request};

use crate::preview;
use crate::refusal::Refusal;
use cleaning::{FORWARDED_FOR, FORWARDED_HOST, FORWARDED_PROTO, RUNTIME_TOKEN, clean, tokens};
pub(crate) use cleaning::{clean_trailers, returned};

/// Refuses what somebody else on the way could read in another way than we do, and what is no request to a server.
pub(crate) fn check(request: &request::Parts) -> Result<(), Refusal> {
    let hosts = request.headers.get_all(HOST).iter().count();
    // `GET host` has no path: it is how CONNECT is written.
    let has_path = request.uri.authority().is_none() || request.uri.scheme().is_some();
    if request.method == Method::CONNECT || hosts > 1 || !has_path {
        return Err(Refusal::Nonsense);
    }
    if is_plain(&request.headers) { Ok(()) } else { Err(Refusal::Coding) }
}

/// Whether a body is what its sender has, cut into pieces at most. Of any other coding only the name would be lost here.
pub(crate) fn is_plain(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let is_known = |coding: &HeaderValue| {
        [&b"chunked"[..], b"identity"].iter().any(|known| coding.as_bytes().eq_ignore_ascii_case(known))
    };
    codings.next().is_none_or(is_known) && codings.next().is_none()
}

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

/// Whether the client wants to speak something else on this connection. HTTP is nothing else: requests that are sent inside of
/// another are not passed by.
pub(crate) fn is_upgrade<B>(request: &Request<B>) -> bool {
    let is_http = |token: &str| {
        token.to_ascii_lowercase().starts_with("h2") || token.to_ascii_lowercase().starts_with("http")
    };
    request.version() == Version::HTTP_11
        && request.headers().contains_key(UPGRADE)
        && !tokens(request.headers(), &UPGRADE).any(is_http)
        && tokens(request.headers(), &CONNECTION).any(|token| token.eq_ignore_ascii_case("upgrade"))
}

/// gRPC needs HTTP/2 all the way.
pub(crate) fn is_grpc<B>(request: &Request<B>) -> bool {
    let kind = request.headers().get(http::header::CONTENT_TYPE);
    request.version() == Version::HTTP_2
        && kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

/// The host as the client wrote it: the one that [`host`] goes by.
fn shown_host(uri: &Uri, headers: &HeaderMap) -> Option<HeaderValue> {
    let Some(authority) = uri.authority() else { return headers.get(HOST).cloned() };
    let place = authority.as_str().rsplit('@').next().unwrap_or_default();
    HeaderValue::from_str(place).ok()
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
        let host = shown_host(request.uri(), request.headers());
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
        assert!(!request.headers().contains_key(http::header::ORIGIN));
    }

    #[test]
    fn http_inside_of_http_is_no_upgrade() {
        for (protocol, is_one) in
            [("websocket", true), ("h2c", false), ("foo, H2C", false), ("HTTP/2.0", false)]
        {
            let request = Request::get("/").header("Connection", "upgrade").header("Upgrade", protocol);
            assert_eq!(is_upgrade(&request.body(()).expect("a request")), is_one, "{protocol}");
        }
    }

    #[test]
    fn nobody_says_in_the_routers_name_where_a_request_came_from() {
        let request = Request::get("/")
            .header("X-Forwarded-Host", "forged")
            .header("X_Forwarded_For", "127.0.0.1")
            .header("X_Sandboxd_Token", "forged")
            .header("X-Forwarded-Proto", "https");
        let headers = sent(request, false).headers().clone();
        assert!(!headers.iter().any(|(_, value)| value == "forged" || value == "127.0.0.1"), "{headers:?}");
        assert_eq!(headers["x-forwarded-proto"], "http");
    }

    #[test]
    fn the_host_that_the_sandbox_hears_of_is_the_one_that_counted() {
        let request = Request::get("http://user@80-a-b.boxes.test:8080/").header("Host", "other.test");
        assert_eq!(sent(request, false).headers()["x-forwarded-host"], "80-a-b.boxes.test:8080");
    }

    #[test]
    fn what_others_could_read_in_another_way_is_refused() {
        let checked = |request: request::Builder| check(&request.body(()).expect("a request").into_parts().0);
        let plain = || Request::get("/").header("Host", "a");
        assert_eq!(checked(plain()), Ok(()));
        assert_eq!(checked(plain().header("Transfer-Encoding", "Chunked")), Ok(()));
        assert_eq!(checked(plain().header("Host", "b")), Err(Refusal::Nonsense));
        for method in ["CONNECT", "GET"] {
            assert_eq!(checked(Request::builder().method(method).uri("a:80")), Err(Refusal::Nonsense));
        }
        assert_eq!(checked(Request::get("http://a")), Ok(()));
        for coding in ["gzip, chunked", "chunked, chunked", "xchunked"] {
            assert_eq!(
                checked(plain().header("Transfer-Encoding", coding)),
                Err(Refusal::Coding),
                "{coding}"
            );
        }
        let twice = plain().header("Transfer-Encoding", "chunked").header("Transfer-Encoding", "chunked");
        assert_eq!(checked(twice), Err(Refusal::Coding));
    }

    #[test]
    fn a_header_that_is_there_twice_is_unclear() {
        let request = Request::get("/").header("X-Sandbox-ID", "a").header("x-sandbox-id", "b");
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        assert_eq!(asked(&parts, None).id, Field::Unclear);
    }
}
