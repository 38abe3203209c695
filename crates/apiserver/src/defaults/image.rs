//! When an image is pulled, which depends on its tag.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::rule;

/// `latest` is pulled always, whatever else is said only when it is not there.
pub(super) fn default_policy(object: &mut Map<String, Value>, image: &str, policy: &str) {
    if object.get(policy).is_some_and(|policy| !rule::is_zero(policy)) {
        return;
    }
    let image = object.get(image).and_then(Value::as_str).unwrap_or_default();
    let value = if tag(image) == Some("latest") { "Always" } else { "IfNotPresent" };
    object.insert(policy.to_owned(), value.into());
}

/// The tag of an image reference; none for one that only has a digest, and for one that is malformed.
fn tag(image: &str) -> Option<&str> {
    let parts = REFERENCE.captures(image)?;
    if IDENTIFIER.is_match(image) || parts.name("path")?.len() > MOST_PATH {
        return None;
    }
    if !parts.name("digest").is_none_or(|digest| is_digest(digest.as_str())) {
        return None;
    }
    match (parts.name("tag"), parts.name("digest")) {
        (Some(tag), _) => Some(tag.as_str()),
        (None, Some(_)) => None,
        (None, None) => Some("latest"),
    }
}

/// How long the path of a reference may be.
const MOST_PATH: usize = 255;

/// What would be an image's id instead of a name.
static IDENTIFIER: LazyLock<Regex> = LazyLock::new(|| compile("^[a-f0-9]{64}$"));

/// The grammar of references. What stands before the first slash is a host only if it looks like one: it has a dot,
/// a port or a capital, or is `localhost`.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    let label = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?";
    let host = format!(r"(?:{label}(?:\.{label})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?");
    let name = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
    let tag = "[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}";
    let algorithm = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*";
    let digest = format!("{algorithm}:[0-9a-fA-F]{{32,}}");
    compile(&format!(
        r"^(?:{host}/)?(?P<path>{name}(?:/{name})*)(?::(?P<tag>{tag}))?(?:@(?P<digest>{digest}))?$"
    ))
});

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant")
}

/// A digest of one of the algorithms that can be checked, in full length.
fn is_digest(text: &str) -> bool {
    let lengths = [("sha256", 64), ("sha384", 96), ("sha512", 128)];
    let Some((algorithm, hex)) = text.split_once(':') else { return false };
    let is_hex = hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_hex && lengths.contains(&(algorithm, hex.len()))
}
