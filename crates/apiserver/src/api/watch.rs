//! Following collections: what is there, where a client asks for it, and then every change, as its selector sees it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::list::{is_selected, not_before, revision};
use super::{Api, Target};
use crate::options::ListOptions;
use crate::resource::Resource;
use crate::selector::Selector;
use crate::status::Status;
use crate::store::{Entry, Event, EventKind, Expired, Revision, Scope, Watch};

/// How often a client that asked for it hears which revision it has seen.
const BOOKMARKS: Duration = Duration::from_mins(1);

/// One client's view of a collection as it changes.
pub struct Feed {
    resource: Arc<Resource>,
    selector: Selector,
    watch: Watch,
    waiting: VecDeque<FeedEvent>,
    bookmarks: Option<tokio::time::Interval>,
}

#[derive(Clone, Debug)]
pub enum FeedEvent {
    Added(Arc<Entry>),
    Modified(Arc<Entry>),
    Deleted(Arc<Entry>),
    /// Everything up to this revision was sent; the first one may say that what was there at the start has been.
    Bookmark {
        revision: Revision,
        ends_initial_events: bool,
    },
    Error(Status),
}

impl Api {
    pub fn watch(
        &self,
        resource: &Arc<Resource>,
        target: &Target<'_>,
        options: &ListOptions,
    ) -> Result<Feed, Status> {
        options.selector.fields.check(&resource.selectable).map_err(Status::bad_request)?;
        let scope = resource.scope(target.namespace);
        let after =
            options.resource_version.as_deref().map(revision).transpose().map_err(Status::unexplained)?;
        let starts_with_state = match options.sends_initial_events {
            Some(wanted) => wanted,
            None => after.unwrap_or_default() == Revision(0),
        };
        let (initial, after) = if starts_with_state {
            not_before(&self.store, after.unwrap_or_default())?;
            let listing = self.store.list(&scope);
            (listing.entries, listing.revision)
        } else {
            (Vec::new(), after.filter(|it| *it > Revision(0)).unwrap_or_else(|| self.store.revision()))
        };
        let watch = self.start(scope, after)?;
        let mut feed = Feed {
            resource: Arc::clone(resource),
            selector: options.selector.clone(),
            watch,
            waiting: VecDeque::new(),
            bookmarks: options.allows_bookmarks.then(|| every(BOOKMARKS)),
        };
        feed.begin(
            initial,
            after,
            starts_with_state && options.sends_initial_events == Some(true) && options.allows_bookmarks,
        );
        Ok(feed)
    }

    fn start(&self, scope: Scope, after: Revision) -> Result<Watch, Status> {
        let refuse = |expired: Expired| {
            Status::expired(format!("too old resource version: {} ({})", expired.asked, expired.oldest))
        };
        self.store.watch(scope, after).map_err(refuse)
    }
}

fn every(period: Duration) -> tokio::time::Interval {
    tokio::time::interval_at(tokio::time::Instant::now() + period, period)
}

impl Feed {
    fn begin(&mut self, initial: Vec<Arc<Entry>>, at: Revision, says_when_done: bool) {
        let matching = initial.into_iter().filter(|entry| self.matches(entry)).map(FeedEvent::Added);
        self.waiting = matching.collect();
        if says_when_done {
            self.waiting.push_back(FeedEvent::Bookmark { revision: at, ends_initial_events: true });
        }
    }

    /// The next event. After an error there is nothing more to come.
    pub async fn next(&mut self) -> FeedEvent {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return event;
            }
            let ticked = async {
                match &mut self.bookmarks {
                    Some(bookmarks) => bookmarks.tick().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                events = self.watch.next() => match events {
                    Ok(events) => self.take(events),
                    Err(_) => return FeedEvent::Error(Status::expired(
                        format!("too old resource version: {}; the client reads too slowly", self.watch.seen()),
                    )),
                },
                _ = ticked => {
                    return FeedEvent::Bookmark { revision: self.watch.seen(), ends_initial_events: false };
                }
            }
        }
    }

    fn take(&mut self, events: Vec<Event>) {
        let seen: Vec<FeedEvent> = events.into_iter().filter_map(|event| self.seen(event)).collect();
        self.waiting.extend(seen);
    }

    /// An object that comes to match is new to this client, and one that ceases to is gone.
    fn seen(&self, event: Event) -> Option<FeedEvent> {
        let matches = self.matches(&event.entry);
        let did_match = event.previous.as_ref().is_some_and(|previous| self.matches(previous));
        match (event.kind, did_match, matches) {
            (EventKind::Deleted, true, _) => Some(FeedEvent::Deleted(event.entry)),
            (EventKind::Deleted, false, _) | (_, false, false) => None,
            (_, false, true) => Some(FeedEvent::Added(event.entry)),
            (_, true, true) => Some(FeedEvent::Modified(event.entry)),
            // What it no longer matches is none of the client's business: it sees the last state that it did match.
            (_, true, false) => {
                event.previous.map(|previous| FeedEvent::Deleted(previous.at(event.entry.revision)))
            }
        }
    }

    fn matches(&self, entry: &Entry) -> bool {
        is_selected(&self.resource, &self.selector, entry)
    }
}
