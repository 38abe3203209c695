//! Who may ask. Refusals say what to do and never why: whoever guesses learns nothing.

use std::path::PathBuf;

use http::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};
use ring::digest::{SHA256, digest};

use crate::failure::{Code, Failure};
use crate::settings::Access;

/// For what comes through routers, which keep `Authorization` for themselves.
const HEADER: &str = "x-sandboxd-token";
const LARGEST_FILE: usize = 64 * 1024;
const REFUSAL: &str = "this sandbox is used with a token: send a current one, made for this sandbox, as `Authorization: Bearer \
    TOKEN` or `X-Sandboxd-Token: TOKEN`";

impl Access {
    pub(crate) fn check(&self, headers: &HeaderMap, now: u64) -> Result<(), Failure> {
        let Self::Token { verifier, bearer_file } = self else { return Ok(()) };
        let is_signed =
            |token: &&str| verifier.as_ref().is_some_and(|verifier| verifier.verify(token, now).is_ok());
        let known = bearer_file.as_ref().and_then(read);
        let is_known = |token: &&str| known.as_deref().is_some_and(|known| is_same(known, token));
        let opens = |token: &&str| is_signed(token) || is_known(token);
        tokens(headers).find(opens).map(drop).ok_or_else(|| Failure::new(Code::Unauthenticated, REFUSAL))
    }

    /// A page in somebody's browser may send requests to whatever that machine reaches, but it cannot hide where it is from. It has
    /// no tokens, so only what is open to everybody needs this.
    pub(crate) fn check_origin(&self, headers: &HeaderMap, authority: Option<&str>) -> Result<(), Failure> {
        let Some(origin) = headers.get(ORIGIN).filter(|_| matches!(self, Self::Open)) else { return Ok(()) };
        let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).or(authority);
        if origin.is_some() && origin == host {
            return Ok(());
        }
        Err(Failure::new(Code::PermissionDenied, "pages of other origins may not use this sandbox"))
    }
}

fn tokens(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let bearers = headers.get_all(AUTHORIZATION).iter().filter_map(|value| bearer(value.to_str().ok()?));
    bearers.chain(headers.get_all(HEADER).iter().filter_map(|value| value.to_str().ok()).map(str::trim))
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Each time anew, since such files are replaced while programs run. An empty one lets nobody in.
fn read(path: &PathBuf) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty() && text.len() <= LARGEST_FILE).then(|| text.to_owned())
}

/// By their hashes, so that the time it takes says nothing about the text.
fn is_same(one: &str, other: &str) -> bool {
    digest(&SHA256, one.as_bytes()).as_ref() == digest(&SHA256, other.as_bytes()).as_ref()
}

#[cfg(test)]
mod tests {
    use http::header::HeaderValue;

    use super::*;
    use crate::token::{Claims, Mint, PublicKey, Verifier};

    const NOW: u64 = 1_800_000_000;

    fn mint() -> Mint {
        Mint::from_seed(&[1; 32])
    }

    fn signed() -> Access {
        let verifier = Verifier::new(vec![PublicKey::parse(&mint().public_key()).unwrap()], "u");
        Access::Token { verifier: Some(verifier), bearer_file: None }
    }

    fn token() -> String {
        mint().token(&Claims { uid: "u".to_owned(), exp: NOW + 60, nbf: None })
    }

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        list.iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    fn opens(access: &Access, list: &[(&'static str, &str)]) -> bool {
        access.check(&headers(list), NOW).is_ok()
    }

    #[test]
    fn a_token_opens_by_either_header() {
        let bearer = format!("Bearer {}", token());
        assert!(opens(&signed(), &[("authorization", &bearer)]));
        assert!(opens(&signed(), &[("authorization", &bearer.replace("Bearer", "bearer"))]));
        assert!(opens(&signed(), &[("x-sandboxd-token", &token())]));
        assert!(opens(&signed(), &[("authorization", "Bearer other"), ("x-sandboxd-token", &token())]));
    }

    #[test]
    fn everything_else_is_refused_in_the_same_words() {
        let late = mint().token(&Claims { uid: "u".to_owned(), exp: NOW, nbf: None });
        for list in [
            &[][..],
            &[("authorization", "Bearer x")],
            &[("authorization", &format!("Basic {}", token()))],
            &[("authorization", &token())],
            &[("x-sandboxd-token", &late)],
        ] {
            let refused = signed().check(&headers(list), NOW).unwrap_err();
            assert_eq!(refused, Failure::new(Code::Unauthenticated, REFUSAL));
        }
    }

    #[test]
    fn a_known_token_is_read_from_its_file_each_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let access = Access::Token { verifier: None, bearer_file: Some(file.path().to_owned()) };
        assert!(!opens(&access, &[("authorization", "Bearer ")]));
        std::fs::write(file.path(), "secret\n").unwrap();
        assert!(opens(&access, &[("authorization", "Bearer secret")]));
        std::fs::write(file.path(), "other\n").unwrap();
        assert!(!opens(&access, &[("authorization", "Bearer secret")]));
        drop(file);
        assert!(!opens(&access, &[("authorization", "Bearer other")]));
    }

    #[test]
    fn pages_of_others_are_kept_away_from_what_is_open() {
        let from = |origin, host| {
            Access::Open.check_origin(&headers(&[("origin", origin), ("host", host)]), None).is_ok()
        };
        assert!(from("http://127.0.0.1:8888", "127.0.0.1:8888"));
        assert!(!from("https://evil.example", "127.0.0.1:8888"));
        assert!(!from("null", "127.0.0.1:8888"));
        assert!(Access::Open.check_origin(&headers(&[("host", "x")]), None).is_ok());
        assert!(signed().check_origin(&headers(&[("origin", "https://x.example")]), None).is_ok());
    }
}
