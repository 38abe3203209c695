//! Formats of addresses.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

static HOSTNAME: LazyLock<Regex> = LazyLock::new(|| {
    let letter = r"a-zA-Z0-9\p{S}\p{L}";
    let pattern = format!(
        r"^([{letter}]((-?[{letter}]{{0,62}})?)|([{letter}](([{letter}-]{{0,61}}[{letter}])?)(\.))+([a-zA-Z\p{{L}}]){{2,63}})$"
    );
    Regex::new(&pattern).expect("the pattern is written here")
});

static MAC: LazyLock<Regex> = LazyLock::new(|| {
    let groups = |separator: &str, digits: u8, counts: [u8; 3]| {
        let pair = format!("[0-9a-fA-F]{{{digits}}}");
        counts.map(|count| format!("{pair}(?:{separator}{pair}){{{}}}", count - 1)).join("|")
    };
    let (colons, dashes, dots) =
        (groups(":", 2, [6, 8, 20]), groups("-", 2, [6, 8, 20]), groups(r"\.", 4, [3, 4, 10]));
    Regex::new(&format!("^(?:{colons}|{dashes}|{dots})$")).expect("the pattern is written here")
});

static SCHEME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^[a-zA-Z][a-zA-Z0-9+.-]*:").expect("the pattern is written here"));

static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    let atom = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\-\u{80}-\u{10FFFF}]+";
    let local = format!(r#"(?:{atom}(?:\.{atom})*|"(?:[^"\\\r\n]|\\.)+")"#);
    let domain = format!(r"(?:{atom}(?:\.{atom})*|\[[^\[\]\\]+\])");
    let words = format!(r#"(?:(?:{atom}|\.|"(?:[^"\\\r\n]|\\.)*")\s*)*"#);
    let pattern = format!(r"^\s*(?:{local}@{domain}|{words}<\s*{local}@{domain}\s*>)\s*$");
    Regex::new(&pattern).expect("the pattern is written here")
});

pub(super) fn is_hostname(text: &str) -> bool {
    text.len() <= 255 && text.split('.').all(|part| part.len() <= 63) && HOSTNAME.is_match(text)
}

pub(super) fn is_mac(text: &str) -> bool {
    MAC.is_match(text)
}

pub(super) fn is_email(text: &str) -> bool {
    ADDRESS.is_match(text)
}

/// An absolute path, or anything after a scheme, as the target of a request.
pub(super) fn is_uri(text: &str) -> bool {
    let clean = !text.contains(|character: char| character.is_ascii_control() || character == ' ');
    let escapes = text
        .split('%')
        .skip(1)
        .all(|rest| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit()));
    if !clean || !escapes {
        return false;
    }
    match SCHEME.find(text) {
        Some(scheme) => has_sound_authority(&text[scheme.end()..]),
        None => text.starts_with('/'),
    }
}

fn has_sound_authority(rest: &str) -> bool {
    let Some(authority) = rest.strip_prefix("//") else { return true };
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if let Some(inside) = host.strip_prefix('[') {
        return inside.contains(']');
    }
    let port = host.split_once(':').map_or("", |(_, port)| port);
    port.bytes().all(|byte| byte.is_ascii_digit()) && !host.contains(['<', '>', '"', '{', '}', '\\', '^'])
}

/// Numbers may start with zeros, and an IPv4 address may be written as an IPv6 one.
pub(super) fn is_ipv4(text: &str) -> bool {
    text.contains('.') && parse(text).is_some()
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.contains(':') && parse(text).is_some()
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match parse(address) {
        Some(IpAddr::V4(_)) => 32,
        Some(IpAddr::V6(_)) => 128,
        None => return false,
    };
    let is_number = !bits.is_empty() && bits.len() <= 3 && bits.bytes().all(|byte| byte.is_ascii_digit());
    is_number && bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}

fn parse(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let parts: Vec<&str> = text.split('.').collect();
    let sloppy: Option<Vec<u8>> = parts.iter().map(|part| octet(part)).collect();
    let octets: [u8; 4] = sloppy?.try_into().ok()?;
    Some(IpAddr::from(octets))
}

fn octet(text: &str) -> Option<u8> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits
        .then(|| text.trim_start_matches('0'))
        .and_then(|text| if text.is_empty() { Some(0) } else { text.parse().ok() })
}
