//! What a registry wants to see before it answers, as it says in `WWW-Authenticate`.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// A name and a password.
    Basic,
    /// A token that is to be had at `realm`.
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
}

/// Those we know, in their order.
pub(super) fn challenges(headers: &HeaderMap) -> Vec<Challenge> {
    let texts = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    texts.flat_map(split).filter_map(|(scheme, parameters)| known(&scheme, parameters)).collect()
}

fn known(scheme: &str, mut parameters: BTreeMap<String, String>) -> Option<Challenge> {
    match scheme.to_ascii_lowercase().as_str() {
        "basic" => Some(Challenge::Basic),
        "bearer" => Some(Challenge::Bearer {
            realm: parameters.remove("realm")?,
            service: parameters.remove("service"),
            scope: parameters.remove("scope"),
        }),
        _ => None,
    }
}

/// Schemes with their parameters. Commas part both, so a word that no `=` follows starts the next scheme.
fn split(text: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut found: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let end = rest.find([' ', '\t', ',', '=']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if word.is_empty() {
            return found;
        }
        if let Some(value) = after.strip_prefix('=') {
            let (value, after) = quoted(value);
            if let Some((_, parameters)) = found.last_mut() {
                parameters.insert(word.to_ascii_lowercase(), value);
            }
            rest = after;
        } else {
            found.push((word.to_owned(), BTreeMap::new()));
            rest = after;
        }
    }
}

/// A value with or without quotes, and what follows it.
fn quoted(text: &str) -> (String, &str) {
    let Some(inner) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = inner.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &inner[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> Vec<Challenge> {
        let mut headers = HeaderMap::new();
        for text in texts {
            headers.append(WWW_AUTHENTICATE, text.parse().unwrap());
        }
        challenges(&headers)
    }

    #[test]
    fn tokens_are_wanted_from_somewhere_for_something() {
        let text = r#"Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull,push""#;
        let expected = Challenge::Bearer {
            realm: "https://auth.example/token".into(),
            service: Some("registry.example".into()),
            scope: Some("repository:a/b:pull,push".into()),
        };
        assert_eq!(read(&[text]), [expected]);
    }

    #[test]
    fn many_challenges_are_told_apart_in_one_header_and_in_many() {
        let bearer = Challenge::Bearer { realm: "r".into(), service: None, scope: None };
        assert_eq!(read(&[r#"Basic realm="a, b", Bearer realm=r"#]), [Challenge::Basic, bearer.clone()]);
        assert_eq!(read(&["Negotiate", "bearer Realm=\"r\"", "BASIC realm=x"]), [bearer, Challenge::Basic]);
    }

    #[test]
    fn nonsense_is_no_challenge_and_no_crash() {
        for text in [
            "",
            ",,,",
            "=",
            "Bearer",
            "Bearer realm",
            "Bearer service=\"x\"",
            "Bearer realm=\"unended",
            "\"",
            "a=b",
        ] {
            assert!(read(&[text]).len() <= 1, "{text}");
        }
        assert_eq!(read(&["Bearer service=\"x\""]), []);
    }
}
