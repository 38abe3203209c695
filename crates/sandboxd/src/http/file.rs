//! Sends a file, or the part of it that was asked for.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, HeaderMap, HeaderValue, IF_MODIFIED_SINCE, IF_RANGE,
    LAST_MODIFIED, RANGE,
};
use http::{Method, StatusCode};

use super::answer;
use super::payload::{Feed, Payload, Reply};
use super::range::{Part, part};
use crate::files::facts::Facts;

const CHUNK: u64 = 128 * 1024;

pub(crate) fn send(method: &Method, headers: &HeaderMap, file: File, facts: &Facts) -> Reply {
    let modified = httpdate::fmt_http_date(facts.modified_at());
    if is_known(headers, facts) {
        return with(answer::empty(StatusCode::NOT_MODIFIED), &[(LAST_MODIFIED, modified)]);
    }
    // A part of another version is of no use to whoever has the beginning of this one.
    let is_same = headers.get(IF_RANGE).is_none_or(|known| known.as_bytes() == modified.as_bytes());
    let range = headers.get(RANGE).and_then(|range| range.to_str().ok()).filter(|_| is_same);
    let (status, first, length, content_range) = match part(range, facts.size) {
        Part::Whole => (StatusCode::OK, 0, facts.size, None),
        Part::Some { first, last } => {
            let range = format!("bytes {first}-{last}/{}", facts.size);
            (StatusCode::PARTIAL_CONTENT, first, last - first + 1, Some(range))
        }
        Part::None => {
            let range = (CONTENT_RANGE, format!("bytes */{}", facts.size));
            return with(answer::empty(StatusCode::RANGE_NOT_SATISFIABLE), &[range]);
        }
    };
    let payload =
        if *method == Method::HEAD || length == 0 { Payload::empty() } else { feed(file, first, length) };
    let reply = answer::typed(status, "application/octet-stream", payload);
    let mut extra = vec![
        (ACCEPT_RANGES, "bytes".to_owned()),
        (LAST_MODIFIED, modified),
        (CONTENT_LENGTH, length.to_string()),
    ];
    extra.extend(content_range.map(|range| (CONTENT_RANGE, range)));
    with(reply, &extra)
}

fn with(mut reply: Reply, headers: &[(http::HeaderName, String)]) -> Reply {
    for (name, value) in headers {
        let value = HeaderValue::from_str(value).expect("numbers and dates are plain text");
        reply.headers_mut().insert(name, value);
    }
    reply
}

/// Whether the client has it as it is. Dates are to the second.
fn is_known(headers: &HeaderMap, facts: &Facts) -> bool {
    let known = headers.get(IF_MODIFIED_SINCE).and_then(|date| date.to_str().ok());
    let known = known.and_then(|date| httpdate::parse_http_date(date).ok());
    let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(facts.modified.as_secs());
    known.is_some_and(|known| modified <= known) && !headers.contains_key(RANGE)
}

fn feed(file: File, first: u64, length: u64) -> Payload {
    let (feed, payload) = Payload::fed();
    tokio::task::spawn_local(pump(Arc::new(file), first, length, feed));
    payload
}

async fn pump(file: Arc<File>, mut position: u64, mut left: u64, feed: Feed) {
    while left > 0 {
        let (file, size) = (file.clone(), usize::try_from(left.min(CHUNK)).unwrap_or(usize::MAX));
        let read = move || {
            let mut chunk = vec![0; size];
            let read = file.read_at(&mut chunk, position)?;
            chunk.truncate(read);
            Ok(chunk)
        };
        match crate::files::blocking(read).await {
            Ok(chunk) if !chunk.is_empty() => {
                position += chunk.len() as u64;
                left -= chunk.len() as u64;
                if feed.send(chunk).await.is_err() {
                    return;
                }
            }
            // It has become shorter, or cannot be read: the client must not take this for all.
            _ => return feed.fail(std::io::ErrorKind::UnexpectedEof.into()).await,
        }
    }
}
