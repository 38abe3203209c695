//! `GET /v1/processes/{id}/output`: what a process wrote, from an offset on. Lines of JSON and not server-sent events: every client of
//! HTTP reads lines, and the one thing that those add, that browsers reconnect by themselves, browsers do without a token.

use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::Answer;
use crate::failure::Failure;
use crate::http::answer::{self, LINES};
use crate::http::payload::Feed;
use crate::http::query::Query;
use crate::processes::process::Follower;
use crate::processes::reader::{Next, Reader};
use crate::server::Server;
use crate::wire::processes::Line;

const CHUNK: usize = 16 * 1024;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Lines,
    /// The bytes of all streams as they came, without offsets.
    Raw,
}

pub(super) fn output(server: &Rc<Server>, query: &Query, id: u32) -> Answer {
    let process = server.processes.find(id)?;
    let from = query.number("from")?.unwrap_or(0);
    let follow = query.flag("follow")?;
    let format = match query.get("format") {
        None | Some("ndjson") => Format::Lines,
        Some("raw") => Format::Raw,
        Some(other) => return Err(Failure::invalid(format!("format is ndjson or raw, not {other:?}"))),
    };
    let (feed, reply) = answer::lines(if format == Format::Raw { "application/octet-stream" } else { LINES });
    let follower = follow.then(|| process.follow());
    tokio::task::spawn_local(send(Reader::from(process, from), follower, format, feed));
    Ok(reply)
}

/// Who does not follow gets what is there.
async fn send(mut reader: Reader, follower: Option<Follower>, format: Format, feed: Feed) {
    loop {
        let next = if follower.is_some() {
            tokio::select! {
                biased;
                () = feed.closed() => None,
                next = reader.next(CHUNK) => Some(next),
            }
        } else {
            reader.try_next(CHUNK)
        };
        let Some(next) = next else { return };
        let ended = matches!(next, Next::End(_));
        let bytes = written(next, format);
        if (!bytes.is_empty() && feed.send(bytes).await.is_err()) || ended {
            return;
        }
    }
}

fn written(next: Next, format: Format) -> Vec<u8> {
    match (next, format) {
        (Next::Data { bytes, .. }, Format::Raw) => bytes,
        (_, Format::Raw) => Vec::new(),
        (next, Format::Lines) => answer::line(&line(next)),
    }
}

pub(super) fn line(next: Next) -> Line {
    match next {
        Next::Data { offset, stream, bytes } => Line::Data { offset, stream, base64: STANDARD.encode(bytes) },
        Next::Lost { from, to } => Line::Lost { from, to },
        Next::End(exit) => Line::Exit(exit),
    }
}
