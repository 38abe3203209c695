//! Links that let a browser into one port of a Sandbox: the token is in the query of the first request, and in a cookie
//! afterwards. Neither goes on to the Sandbox.

use http::header::{CACHE_CONTROL, COOKIE, LOCATION, REFERRER_POLICY, SET_COOKIE};
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
    let ours = cookies(headers).find(|pair| is_ours(pair))?;
    let (_, token) = str::from_utf8(ours).ok()?.split_once('=')?;
    Some(token.trim().to_owned())
}

/// All of them, in one header or in several, as HTTP/2 has them. Others may hold any bytes.
fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let values = headers.get_all(COOKIE).into_iter().map(HeaderValue::as_bytes);
    values.flat_map(|value| value.split(|byte| *byte == b';')).map(<[u8]>::trim_ascii)
}

fn is_ours(cookie: &[u8]) -> bool {
    let name = cookie.split(|byte| *byte == b'=').next().unwrap_or_default();
    name.trim_ascii() == NAME.as_bytes()
}

/// Sends the browser to the same place without the token, which it keeps. The path is relative, so that nobody is sent elsewhere.
/// What is no token is not kept: where a token is not what lets somebody in, nobody has looked at it.
pub(crate) fn keep(uri: &Uri, token: &str, is_secure: bool) -> Option<Response<()>> {
    let is_token = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte));
    if !is_token {
        return None;
    }
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
    let is_other = |pair: &&str| form_urlencoded::parse(pair.as_bytes()).all(|(name, _)| name != NAME);
    if query.split('&').all(|pair| is_other(&pair)) {
        return path;
    }
    let rest: Vec<&str> = query.split('&').filter(is_other).collect();
    if rest.is_empty() { before.to_owned() } else { format!("{before}?{}", rest.join("&")) }
}

/// All cookies but ours in one header, as servers of HTTP/1.1 expect them; empty, if there are no others. Nothing, where they are so
/// already.
pub(crate) fn other_cookies(headers: &HeaderMap) -> Option<HeaderValue> {
    let is_apart = headers.get_all(COOKIE).iter().nth(1).is_some();
    if !is_apart && !cookies(headers).any(is_ours) {
        return None;
    }
    let others: Vec<&[u8]> = cookies(headers).filter(|pair| !pair.is_empty() && !is_ours(pair)).collect();
    Some(HeaderValue::from_bytes(&others.join(&b"; "[..])).expect("parts of such values"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    fn the_sandbox_does_not_see_the_token_of_a_link() {
        for (seen, path) in [
            ("/a", "/a?agent-sandbox-preview=t"),
            ("/a", "/a?agent%2Dsandbox-preview=t"),
            ("/a?b=1", "/a?agent-sandbox-preview=t&b=1&agent-sandbox-preview=u"),
            ("/a?x=y%2F", "/a?x=y%2F"),
            ("/a?&&x", "/a?&&x"),
            ("/a?", "/a?"),
        ] {
            assert_eq!(without_token(path.to_owned()), seen);
        }
    }

    fn with_cookies(values: &[&'static [u8]]) -> HeaderMap {
        let value = |value: &&'static [u8]| (COOKIE, HeaderValue::from_bytes(value).expect("a value"));
        values.iter().map(value).collect()
    }

    #[test]
    fn the_sandbox_does_not_see_the_token_of_a_cookie() {
        let others = |values: &[&'static [u8]]| other_cookies(&with_cookies(values));
        let one = |text: &'static str| Some(HeaderValue::from_static(text));
        assert_eq!(others(&[b"agent-sandbox-preview=t"]), one(""));
        assert_eq!(others(&[b"a=1; agent-sandbox-preview=t; b=2"]), one("a=1; b=2"));
        assert_eq!(others(&[b"a=1", b"agent-sandbox-preview=t", b"b=2"]), one("a=1; b=2"));
        assert_eq!(others(&[b"agent-sandbox-preview =t"]), one(""));
        assert_eq!(others(&[b"a=1; b=2;"]), None, "as it was");
        let strange = others(&[b"a=\xff; agent-sandbox-preview=t"]).expect("changed");
        assert_eq!(strange.as_bytes(), b"a=\xff");
    }

    #[test]
    fn a_token_is_found_among_all_cookies() {
        for values in [&[&b"a=\xff; agent-sandbox-preview=t"[..]][..], &[b"a=1", b"agent-sandbox-preview=t"]]
        {
            assert_eq!(in_cookie(&with_cookies(values)).as_deref(), Some("t"));
        }
    }

    /// Our name, with some of its letters escaped.
    fn escaped(which: u32) -> String {
        let letter = |(at, letter): (usize, char)| match which >> at & 1 {
            0 => letter.to_string(),
            _ => format!("%{:02X}", u32::from(letter)),
        };
        NAME.chars().enumerate().map(letter).collect()
    }

    proptest! {
        #[test]
        fn whatever_stands_around_a_token_it_is_found_and_does_not_go_on(
            before in prop::collection::vec("[a-zA-Z0-9=%+;._-]{0,8}", 0..4), after in "[a-z0-9=&%+]{0,12}", which in any::<u32>(),
        ) {
            let others = before.join("&");
            let path = format!("/p?{others}&{}=s3cret&{after}", escaped(which));
            let Ok(uri) = path.parse::<Uri>() else { return Ok(()) };
            prop_assert_eq!(in_query(&uri), Some("s3cret".to_owned()));
            prop_assert_eq!(without_token(path.clone()), format!("/p?{others}&{after}"), "{}", path);
        }

        #[test]
        fn whatever_other_cookies_there_are_they_arrive_and_ours_does_not(
            others in prop::collection::vec("[a-z]{1,4}=[!-:<-~]{0,6}", 0..5), at in any::<prop::sample::Index>(), apart in any::<bool>(),
        ) {
            let mut all = others.clone();
            all.insert(at.index(others.len() + 1), format!("{NAME}=s3cret"));
            let values = if apart { all } else { vec![all.join("; ")] };
            let value = |text: &String| (COOKIE, HeaderValue::from_str(text).expect("a value"));
            let headers: HeaderMap = values.iter().map(value).collect();
            prop_assert_eq!(in_cookie(&headers), Some("s3cret".to_owned()));
            let left = other_cookies(&headers).expect("changed");
            prop_assert_eq!(left.to_str().expect("text"), others.join("; "));
        }
    }

    #[test]
    fn what_is_no_token_becomes_no_cookie() {
        let uri: Uri = "/?agent-sandbox-preview=x%3B%20Domain%3Dtest".parse().expect("a path");
        let token = in_query(&uri).expect("something");
        assert!(keep(&uri, &token, false).is_none(), "{token}");
    }
}
