//! `GET /v1/watch/{path}`: a line of JSON for each change, until the client goes or the directory does.

use std::os::fd::OwnedFd;
use std::rc::Rc;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::{Answer, inside};
use crate::failure::Failure;
use crate::files::blocking;
use crate::files::watch::Watch;
use crate::http::answer::{self, LINES};
use crate::http::payload::Feed;
use crate::http::query::Query;
use crate::server::Server;
use crate::settings::limits::size;
use crate::sys::readiness;
use crate::wire::watch::{Change, Event};

pub(super) async fn watch(server: &Rc<Server>, query: &Query, path: &str) -> Answer {
    let (recursive, inside) = (query.flag("recursive")?, inside(server, path)?);
    let leave = server.watcher()?;
    let (root, most) = (server.root.clone(), size(server.settings.limits.watched));
    let begin = move || {
        let failed = format!("watching {}", inside.shown());
        Watch::begin(root, inside, recursive, most).map_err(|errno| Failure::of(errno, &failed))
    };
    let (watch, first) = blocking(begin).await?;
    let queue = readiness::watch(watch.queue()?)?;
    let (feed, reply) = answer::lines(LINES);
    tokio::task::spawn_local(async move {
        let _leave = leave;
        if tell(&feed, &first).await {
            follow(watch, queue, feed).await;
        }
    });
    Ok(reply)
}

async fn follow(mut watch: Watch, queue: AsyncFd<OwnedFd>, feed: Feed) {
    loop {
        let read = queue.async_io(Interest::READABLE, |_| Ok(watch.read()?));
        let changes = tokio::select! {
            biased;
            () = feed.closed() => return,
            changes = read => changes,
        };
        match changes {
            Ok(changes) if tell(&feed, &changes).await => {}
            _ => return,
        }
    }
}

/// Whether there is more to tell, and somebody to tell it to.
async fn tell(feed: &Feed, changes: &[Change]) -> bool {
    let lines: Vec<u8> = changes.iter().flat_map(answer::line).collect();
    let ended = changes.iter().any(|change| change.event == Event::End);
    lines.is_empty() || (feed.send(lines).await.is_ok() && !ended)
}
