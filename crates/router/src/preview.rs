//! Links that let a browser into one port of a Sandbox: the token is in the query of the first request, and in a cookie
//! afterwards. Neither goes on to the Sandbox.

use http::header::{CACHE_CONTROL, LOCATION, REFERRER_POLICY, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Response, StatusCode, Uri};

/// The name of the token in a query, and of the cookie.
const NAME: &str = "agent-sandbox-preview";

/// The token of a link, from its query or the cookie that was made of it.
pub(crate) fn token(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    in_query(uri).or_else(|| in_cookie(headers))
}

pub(crate) fn in_query(uri: &Uri) -> Option<String> {
    let pairs = form_urlencoded::parse(uri.query()?.as_bytes());
    pairs.into_iter().find(|(name, _)| name == NAME).map(|(_, token)| token.into_owned())
}

fn in_cookie(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(http::header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == NAME).map(|(_, token)| token.to_owned())
}

/// Sends the browser to the same place without the token, which it keeps. The path is relative, so that nobody is sent elsewhere.
pub(crate) fn keep(uri: &Uri, token: &str, is_secure: bool) -> Option<Response<()>> {
    let path = without_token(uri.path_and_query()?.as_str().to_owned());
    let path = format!("/{}", path.trim_start_matches(['/', '\\']));
    let secure = if is_secure { "; Secure" } else { "" };
    let cookie = format!("{NAME}={token}; Path=/; HttpOnly; SameSite=Lax{secure}");
    let mut answer = Response::new(());
    *answer.status_mut() = StatusCode::SEE_OTHER;
    let headers = answer.headers_mut();
    headers.insert(LOCATION, HeaderValue::from_str(&path).ok()?);
    headers.insert(SET_COOKIE, HeaderValue::from_str(&cookie).ok()?);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Some(answer)
}

/// A path and query without the token, and otherwise as it was.
pub(crate) fn without_token(path: String) -> String {
    let Some((before, query)) = path.split_once('?') else { return path };
    if !query.contains(NAME) {
        return path;
    }
    let is_other = |pair: &&str| pair.split('=').next() != Some(NAME);
    let rest: Vec<&str> = query.split('&').filter(is_other).collect();
    if rest.is_empty() { before.to_owned() } else { format!("{before}?{}", rest.join("&")) }
}

/// A `Cookie` header without ours. Nothing, if nothing else is in it.
pub(crate) fn without_cookie(value: &HeaderValue) -> Option<HeaderValue> {
    let Ok(text) = value.to_str() else { return Some(value.clone()) };
    if !text.contains(NAME) {
        return Some(value.clone());
    }
    let is_other = |pair: &&str| pair.split('=').next() != Some(NAME);
    let rest: Vec<&str> = text.split(';').map(str::trim).filter(is_other).collect();
    (!rest.is_empty()).then(|| HeaderValue::from_str(&rest.join("; ")).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_in_the_query_becomes_a_cookie() {
        let uri: Uri = "/app?a=1&agent-sandbox-preview=v2.x.y&b=%20".parse().expect("a path");
        let token = in_query(&uri).expect("a token");
        let answer = keep(&uri, &token, true).expect("an answer");
        assert_eq!(answer.headers()[LOCATION], "/app?a=1&b=%20");
        let cookie = "agent-sandbox-preview=v2.x.y; Path=/; HttpOnly; SameSite=Lax; Secure";
        assert_eq!(answer.headers()[SET_COOKIE], cookie);
    }

    #[test]
    fn nobody_is_sent_elsewhere() {
        for path in ["//evil.test/?agent-sandbox-preview=t", "/\\evil.test?agent-sandbox-preview=t"] {
            let Ok(uri) = path.parse::<Uri>() else { continue };
            let Some(answer) = keep(&uri, "t", false) else { continue };
            assert_eq!(
                answer.headers()[LOCATION].to_str().expect("text").trim_start_matches('/').len() + 1,
                answer.headers()[LOCATION].len(),
                "{path}"
            );
        }
    }

    #[test]
    fn the_sandbox_does_not_see_the_token() {
        assert_eq!(without_token("/a?agent-sandbox-preview=t".to_owned()), "/a");
        assert_eq!(without_token("/a?x=y%2F".to_owned()), "/a?x=y%2F");
        let cookie = |text: &'static str| without_cookie(&HeaderValue::from_static(text));
        assert_eq!(cookie("agent-sandbox-preview=t"), None);
        assert_eq!(cookie("a=1; agent-sandbox-preview=t; b=2"), Some(HeaderValue::from_static("a=1; b=2")));
        assert_eq!(cookie("a=1"), Some(HeaderValue::from_static("a=1")));
    }
}
