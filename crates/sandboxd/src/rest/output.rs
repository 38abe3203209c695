//! `GET /v1/processes/{id}/output`: what a process wrote, from an offset on. Lines of JSON and not server-sent events: every client of
//! HTTP reads lines, and the one thing that those add, that browsers reconnect by themselves, browsers do without a token.
//!
//! **Invariant.** Nobody takes what has a gap for whole: lines name it, raw bytes begin where a header says and break off at it.

use std::io;
use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;

use super::Answer;
use crate::failure::Failure;
use crate::http::answer::{self, LINES};
use crate::http::payload::Feed;
use crate::http::query::Query;
use crate::processes::process::Follower;
use crate::processes::reader::{Next, Reader, Taking};
use crate::server::Server;
use crate::wire::processes::{Line, OUTPUT_FROM};

const CHUNK: usize = 16 * 1024;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Lines,
    /// The bytes of all streams as they came, without offsets.
    Raw,
}

/// Somebody who reads, and what they asked for.
struct Asked {
    reader: Reader,
    /// Whether they wait for more than is there.
    follow: bool,
    _follower: Option<Follower>,
    format: Format,
    /// How many bytes of output are left to send.
    left: usize,
}

pub(super) fn output(server: &Rc<Server>, query: &Query, id: u32) -> Answer {
    let process = server.processes.find(id)?;
    let from = query.number("from")?.unwrap_or(0);
    let most = query.number::<usize>("most")?.map(|most| most.clamp(1, process.window()));
    let follow = query.flag("follow")?;
    let format = match query.get("format") {
        None | Some("ndjson") => Format::Lines,
        Some("raw") => Format::Raw,
        Some(other) => return Err(Failure::invalid(format!("format is ndjson or raw, not {other:?}"))),
    };
    let taking = if most.is_some() { Taking::Asked } else { Taking::Sent };
    let (feed, mut reply) =
        answer::lines(if format == Format::Raw { "application/octet-stream" } else { LINES });
    // Whoever asks in pieces is not gone after each.
    let follower = (follow && most.is_none()).then(|| process.follow());
    let mut reader = Reader::from(process, from, taking);
    if format == Format::Raw {
        let first = HeaderValue::from(reader.skip_lost());
        reply.headers_mut().insert(OUTPUT_FROM, first);
    }
    let left = most.unwrap_or(usize::MAX);
    tokio::task::spawn_local(send(Asked { reader, follow, _follower: follower, format, left }, feed));
    Ok(reply)
}

/// Who does not follow gets what is there.
async fn send(mut asked: Asked, feed: Feed) {
    while asked.left > 0 {
        let most = CHUNK.min(asked.left);
        let next = if asked.follow {
            tokio::select! {
                biased;
                () = feed.closed() => None,
                next = asked.reader.next(most) => Some(next),
            }
        } else {
            asked.reader.try_next(most)
        };
        let Some(next) = next else { return };
        if let Next::Data { bytes, .. } = &next {
            asked.left -= bytes.len();
        }
        let ended = matches!(next, Next::End(_));
        match written(next, asked.format) {
            Err(gap) => return feed.fail(gap).await,
            Ok(bytes) if bytes.is_empty() => {}
            Ok(bytes) => {
                if feed.send(bytes).await.is_err() {
                    return;
                }
            }
        }
        if ended {
            return;
        }
    }
}

fn written(next: Next, format: Format) -> io::Result<Vec<u8>> {
    match (next, format) {
        (Next::Data { bytes, .. }, Format::Raw) => Ok(bytes),
        (Next::Lost { .. }, Format::Raw) => Err(io::ErrorKind::UnexpectedEof.into()),
        (Next::End(_), Format::Raw) => Ok(Vec::new()),
        (next, Format::Lines) => Ok(answer::line(&line(next))),
    }
}

pub(super) fn line(next: Next) -> Line {
    match next {
        Next::Data { offset, stream, bytes } => Line::Data { offset, stream, base64: STANDARD.encode(bytes) },
        Next::Lost { from, to } => Line::Lost { from, to },
        Next::End(exit) => Line::Exit(exit),
    }
}
