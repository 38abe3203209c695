//! The headers that ask for another user.

use std::fmt::Write;

use axum::http::{HeaderMap, HeaderValue};

use super::User;
use crate::field::Quoted;
use crate::status::Status;

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA: &str = "impersonate-extra-";

/// The user that the headers of a request ask for, as they say it; nothing where they ask for none.
pub fn wanted(headers: &HeaderMap) -> Result<Option<User>, Status> {
    let mut user = User { name: first(headers, USER)?, uid: first(headers, UID)?, ..User::default() };
    for group in headers.get_all(GROUP) {
        user.groups.push(text(group)?);
    }
    for (name, value) in headers {
        if let Some(key) = name.as_str().strip_prefix(EXTRA) {
            user.extra.entry(unescaped(key)).or_default().push(text(value)?);
        }
    }
    if !user.name.is_empty() {
        return Ok(Some(user));
    }
    if user == User::default() {
        return Ok(None);
    }
    let message = format!("requested {} without impersonating a user name", in_go(&user));
    Err(Status::bad_request(message))
}

fn first(headers: &HeaderMap, name: &str) -> Result<String, Status> {
    headers.get(name).map_or(Ok(String::new()), text)
}

/// Names that are not text could look like others once they are shown.
fn text(value: &HeaderValue) -> Result<String, Status> {
    let text = std::str::from_utf8(value.as_bytes());
    text.map(str::to_owned).map_err(|_| Status::bad_request("impersonation headers must be UTF-8"))
}

/// A key with its `%2F`s resolved. One that is not well-formed stays as it is.
fn unescaped(key: &str) -> String {
    let mut pieces = key.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let Some((byte, rest)) = hexadecimal(piece) else { return key.to_owned() };
        bytes.push(byte);
        bytes.extend_from_slice(rest);
    }
    String::from_utf8(bytes).unwrap_or_else(|_| key.to_owned())
}

/// The byte of the first two digits, and what follows them.
fn hexadecimal(text: &str) -> Option<(u8, &[u8])> {
    let (digits, rest) = text.as_bytes().split_at_checked(2)?;
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = digit(digits[0])? * 16 + digit(digits[1])?;
    Some((u8::try_from(byte).ok()?, rest))
}

/// The message of the real server shows a structure of its language.
fn in_go(user: &User) -> String {
    let list = |texts: &[String]| {
        let texts: Vec<_> = texts.iter().map(|text| Quoted(text).to_string()).collect();
        if texts.is_empty() {
            "[]string(nil)".to_owned()
        } else {
            format!("[]string{{{}}}", texts.join(", "))
        }
    };
    let extra: Vec<_> =
        user.extra.iter().map(|(key, values)| format!("{}:{}", Quoted(key), list(values))).collect();
    let mut shown = format!("&user.DefaultInfo{{Name:{}, UID:{}", Quoted(&user.name), Quoted(&user.uid));
    let extra = if extra.is_empty() { "(nil)".to_owned() } else { format!("{{{}}}", extra.join(", ")) };
    write!(shown, ", Groups:{}, Extra:map[string][]string{extra}}}", list(&user.groups))
        .expect("text takes any text");
    shown
}
