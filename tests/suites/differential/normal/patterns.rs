//! What a server's inventions look like in text: uids, times, addresses, tokens, versions in messages, ages.

use std::net::Ipv4Addr;

/// What Kubernetes' messages say before a version; some quote whole objects.
const BEFORE_VERSION: &[&str] = &[
    "ResourceVersion in object meta: ",
    "ResourceVersion in record (",
    ", current: ",
    "too old resource version: 1 (",
    "resourceVersion\\\":\\\"",
    "resourceVersion: \"",
];

const UID: &str = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
const TIME: &str = "dddd-dd-ddTdd:dd:dd";

pub(super) fn is_uid(text: &str) -> bool {
    text.len() == UID.len() && matches(text, UID)
}

pub(super) fn uids(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    replace_uids(text, |uid| {
        found.push(uid.to_owned());
        None
    });
    found
}

pub(super) fn replace_uids(text: &str, mut alias: impl FnMut(&str) -> Option<String>) -> String {
    replace(text, |rest| {
        let uid = matches(rest, UID).then(|| &rest[..UID.len()])?;
        Some((UID.len(), alias(uid).unwrap_or_else(|| uid.to_owned())))
    })
}

/// Times with fractions of a second stay apart from those without.
pub(super) fn replace_times(text: &str, is_new: impl Fn(&str) -> bool) -> String {
    replace(text, |rest| {
        let (length, alias) = time(rest)?;
        is_new(&rest[..length]).then(|| (length, alias.to_owned()))
    })
}

fn time(text: &str) -> Option<(usize, &'static str)> {
    let rest = matches(text, TIME).then(|| &text[TIME.len()..])?;
    if ends_in_zone(rest) {
        return Some((TIME.len() + 1, "<time>"));
    }
    let digits = rest.strip_prefix('.').map(leading_digits)?;
    ends_in_zone(&rest[1 + digits..]).then_some((TIME.len() + digits + 2, "<time in microseconds>"))
}

/// Messages about times quote the form that they should have, which goes on after the `Z`.
fn ends_in_zone(text: &str) -> bool {
    text.strip_prefix('Z').is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
}

/// Whether text is nothing but an IPv4 address; messages quote addresses as examples.
pub(super) fn is_address(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok()
}

/// JSON Web Tokens, which begin with the start of a JSON object in base64.
pub(super) fn replace_tokens(text: &str) -> String {
    replace(text, |rest| {
        let of_token = |next: char| next.is_ascii_alphanumeric() || "-_.".contains(next);
        let length = rest.find(|next| !of_token(next)).unwrap_or(rest.len());
        let is_token = rest.starts_with("eyJ") && rest[..length].matches('.').count() == 2;
        is_token.then(|| (length, "<token>".to_owned()))
    })
}

pub(super) fn replace_versions_in_messages(text: &str, is_new: impl Fn(&str) -> bool) -> String {
    let mut text = text.to_owned();
    for before in BEFORE_VERSION {
        let ends: Vec<_> = text.match_indices(before).map(|(at, before)| at + before.len()).collect();
        for end in ends.into_iter().rev() {
            let version = end..end + leading_digits(&text[end..]);
            if !version.is_empty() && is_new(&text[version.clone()]) {
                text.replace_range(version, "<version>");
            }
        }
    }
    text
}

/// A cell that is an age, or ends with one, as `3 (5m ago)`.
pub(super) fn replace_age(text: &str) -> String {
    if is_age(text) {
        return "<age>".to_owned();
    }
    let (before, last) = text.rsplit_once('(').unwrap_or((text, ""));
    let is_last = last.strip_suffix(" ago)").is_some_and(is_age);
    if is_last { format!("{before}(<age> ago)") } else { text.to_owned() }
}

/// As kubectl shows them: `5s`, `2m3s`.
fn is_age(text: &str) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let digits = leading_digits(rest);
        let unit = rest[digits..].chars().next();
        if digits == 0 || !unit.is_some_and(|unit| "smhdy".contains(unit)) {
            return false;
        }
        rest = &rest[digits + 1..];
    }
    !text.is_empty()
}

/// Whether text begins with a pattern of `h` for a hexadecimal digit, `d` for a decimal one, and other characters.
fn matches(text: &str, pattern: &str) -> bool {
    text.len() >= pattern.len()
        && text.bytes().zip(pattern.bytes()).all(|(byte, wanted)| match wanted {
            b'h' => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
            b'd' => byte.is_ascii_digit(),
            other => byte == other,
        })
}

fn leading_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Replaces what is found at the start of words: how long it is, and what stands for it.
fn replace(text: &str, mut find: impl FnMut(&str) -> Option<(usize, String)>) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    let mut inside_word = false;
    while let Some(next) = rest.chars().next() {
        let found = if inside_word { None } else { find(rest) };
        let (length, what) = found.unwrap_or_else(|| (next.len_utf8(), next.to_string()));
        inside_word = rest[..length].ends_with(|last: char| last.is_ascii_alphanumeric() || last == '.');
        replaced.push_str(&what);
        rest = &rest[length..];
    }
    replaced
}
