//! Which headers go on, and which were for the router or for the connection. Names count as applications read them: many know no
//! difference between `X-Forwarded-For` and `X_Forwarded_For`.

use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, COOKIE, FORWARDED, HOST, ORIGIN, PROXY_AUTHORIZATION, TE,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::preview;

const FOR_US: &str = "x-sandbox-";
pub(super) const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
pub(super) const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
pub(super) const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
pub(super) const RUNTIME_TOKEN: HeaderName = HeaderName::from_static("x-sandboxd-token");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// Of the connection that a message came by.
const HOP: [HeaderName; 7] =
    [CONNECTION, KEEP_ALIVE, PROXY_AUTHORIZATION, PROXY_CONNECTION, TE, TRANSFER_ENCODING, UPGRADE];

/// Takes out what was for us or for this connection. `TE: trailers` stays: gRPC servers ask for it.
pub(super) fn clean(headers: &mut HeaderMap, upgrade: bool) {
    let wants_trailers = tokens(headers, &TE).any(|token| token.eq_ignore_ascii_case("trailers"));
    let protocol = headers.get(UPGRADE).cloned().filter(|_| upgrade);
    remove(headers, listed(headers));
    remove(headers, HOP.into_iter().chain([HOST, AUTHORIZATION]));
    remove(headers, forgeable(headers));
    if wants_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    if let Some(protocol) = protocol {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, protocol);
        headers.remove(ORIGIN);
    }
    if let Some(cookie) = preview::other_cookies(headers) {
        headers.remove(COOKIE);
        if !cookie.is_empty() {
            headers.insert(COOKIE, cookie);
        }
    }
}

/// What follows a body is read by some as if it had come before it.
pub(crate) fn clean_trailers(trailers: &mut HeaderMap) {
    remove(trailers, HOP.into_iter().chain([HOST, AUTHORIZATION, CONTENT_LENGTH, COOKIE]));
    remove(trailers, forgeable(trailers));
}

/// What of an answer's head goes back to the client.
pub(crate) fn returned(headers: &mut HeaderMap) {
    remove(headers, listed(headers));
    remove(headers, [CONNECTION, KEEP_ALIVE, PROXY_CONNECTION, TRANSFER_ENCODING, UPGRADE]);
}

fn remove(headers: &mut HeaderMap, names: impl IntoIterator<Item = HeaderName>) {
    for name in names {
        headers.remove(name);
    }
}

/// What the sender says is for this connection.
fn listed(headers: &HeaderMap) -> Vec<HeaderName> {
    tokens(headers, &CONNECTION).filter_map(|token| HeaderName::try_from(token).ok()).collect()
}

/// What only the router says to Sandboxes, or is told.
fn forgeable(headers: &HeaderMap) -> Vec<HeaderName> {
    let ours = [FORWARDED, FORWARDED_FOR, FORWARDED_HOST, FORWARDED_PROTO, RUNTIME_TOKEN];
    let is_ours = |name: &&HeaderName| {
        let read = name.as_str().replace('_', "-");
        read.starts_with(FOR_US) || ours.iter().any(|our| our.as_str() == read)
    };
    headers.keys().filter(is_ours).cloned().collect()
}

pub(super) fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_body_forges_nothing() {
        let mut trailers = HeaderMap::new();
        for name in ["x-sandboxd-token", "x-sandbox-id", "x-forwarded-for", "authorization", "grpc-status"] {
            trailers.insert(HeaderName::from_static(name), HeaderValue::from_static("0"));
        }
        clean_trailers(&mut trailers);
        assert_eq!(trailers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["grpc-status"]);
    }
}
