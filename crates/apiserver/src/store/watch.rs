//! A watch is a place in the history and nothing else: no queue of its own, so a slow reader costs no memory and
//! delays nobody. One that falls behind the history is told so.

use std::sync::Arc;

use tokio::sync::watch::Receiver;

use super::history::Expired;
use super::view::View;
use super::{Event, Revision, Scope};

/// Events that are returned together. One that is returned is held by the reader, whatever the history forgets.
const BATCH: usize = 64;

pub struct Watch {
    view: Arc<View>,
    scope: Scope,
    seen: Revision,
    bell: Receiver<Revision>,
}

impl Watch {
    pub(super) fn new(view: Arc<View>, scope: Scope, after: Revision) -> Result<Self, Expired> {
        let bell = view.bell();
        view.index().events(&scope, after).map(drop)?;
        Ok(Self { view, scope, seen: after, bell })
    }

    /// Everything in the scope up to this revision was returned; what a bookmark says.
    pub fn seen(&self) -> Revision {
        self.seen
    }

    /// The next events, at least one, in order. Cancel safe: what was not returned comes again.
    pub async fn next(&mut self) -> Result<Vec<Event>, Expired> {
        loop {
            let events = self.now()?;
            if !events.is_empty() {
                return Ok(events);
            }
            // The bell cannot be gone: the view that this watch holds owns it.
            let _ = self.bell.changed().await;
        }
    }

    /// The events there are now, perhaps none, and perhaps not all of them.
    pub fn now(&mut self) -> Result<Vec<Event>, Expired> {
        self.bell.mark_unchanged();
        let index = self.view.index();
        let events: Vec<Event> = index.events(&self.scope, self.seen)?.take(BATCH).cloned().collect();
        self.seen = match events.last() {
            Some(last) if events.len() == BATCH => last.revision(),
            _ => self.seen.max(index.revision()),
        };
        Ok(events)
    }
}
