//! `/v1/archive`: a tree as tar, both ways. A thread reads or writes the archive, and a task carries it.

use std::io::{self, Read, Write};
use std::rc::Rc;

use bytes::{Buf, Bytes};
use http::{Request, StatusCode};
use hyper::body::Incoming;
use tokio::sync::mpsc;

use super::{Answer, done, inside};
use crate::failure::Failure;
use crate::files::archive::{pack, unpack};
use crate::files::blocking;
use crate::files::facts::Kind;
use crate::http::answer;
use crate::http::body::Chunks;
use crate::http::payload::{Feed, Payload};
use crate::server::Server;

const CHUNK: usize = 64 * 1024;

pub(super) async fn read(server: &Rc<Server>, path: &str) -> Answer {
    let (root, inside) = (server.root.clone(), inside(server, path)?);
    let leave = server.transfer()?;
    let (looked, place) = (root.clone(), inside.clone());
    let facts = move || {
        looked.facts(&place).map_err(|errno| Failure::of(errno, &format!("reading {}", place.shown())))
    };
    if !matches!(blocking(facts).await?.kind, Kind::File | Kind::Directory) {
        return Err(Failure::invalid(format!("{} is neither file nor directory", inside.shown())));
    }
    let (feed, payload) = Payload::fed();
    tokio::task::spawn_local(async move {
        let _leave = leave;
        let mut output = Output { feed: feed.clone(), held: Vec::new() };
        let packed = blocking(move || {
            pack(&root, &inside, &mut output)?;
            Ok(output.flush()?)
        });
        if packed.await.is_err() {
            feed.fail(io::ErrorKind::UnexpectedEof.into()).await;
        }
    });
    Ok(answer::typed(StatusCode::OK, "application/x-tar", payload))
}

/// Sends what is written in larger pieces.
struct Output {
    feed: Feed,
    held: Vec<u8>,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if self.held.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.held.is_empty() { Ok(()) } else { self.feed.blocking_send(std::mem::take(&mut self.held)) }
    }
}

pub(super) async fn write(server: &Rc<Server>, request: Request<Incoming>, path: &str) -> Answer {
    let (root, inside) = (server.root.clone(), inside(server, path)?);
    let _leave = server.transfer()?;
    let (sender, receiver) = mpsc::channel(2);
    let input = Input { receiver, held: Bytes::new() };
    let most = server.settings.limits.archive_entries;
    let unpacked = blocking(move || unpack(&root, &inside, input, most));
    let (unpacked, carried) = tokio::join!(unpacked, carry(server.large_body(request), sender));
    // What broke the body is more to the point than that the archive ended.
    carried?;
    unpacked?;
    Ok(done())
}

async fn carry(mut chunks: Chunks, sender: mpsc::Sender<io::Result<Bytes>>) -> Result<(), Failure> {
    loop {
        let next = tokio::select! {
            biased;
            // The archive was refused, and the rest of it does not matter.
            () = sender.closed() => return Ok(()),
            next = chunks.next() => next,
        };
        match next {
            Ok(None) => return Ok(()),
            Ok(Some(bytes)) => {
                if sender.send(Ok(bytes)).await.is_err() {
                    return Ok(());
                }
            }
            Err(failure) => {
                // It must not take the beginning for the whole.
                let _ = sender.send(Err(io::ErrorKind::UnexpectedEof.into())).await;
                return Err(failure);
            }
        }
    }
}

struct Input {
    receiver: mpsc::Receiver<io::Result<Bytes>>,
    held: Bytes,
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.held.is_empty() {
            match self.receiver.blocking_recv() {
                None => return Ok(0),
                Some(next) => self.held = next?,
            }
        }
        let length = self.held.len().min(buffer.len());
        self.held.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}
