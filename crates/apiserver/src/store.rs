//! Where objects live: one file, one global revision, every acknowledged write on disk.
//!
//! One thread writes. It takes what is waiting as one batch, commits it with one fsync, and only then shows it to
//! readers and answers. Reads never touch the disk: all objects are in memory as the text that is on disk, and so is the
//! recent history that watches replay.

mod disk;
mod entry;
mod guard;
mod history;
mod index;
mod key;
mod plan;
mod summary;
mod view;
mod watch;
mod writer;

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

pub use disk::{Disk, OpenError};
pub use entry::{Entry, Event, EventKind, Revision, Written};
pub use guard::{Guard, Obstruction};
pub use history::Expired;
pub use key::{Key, Scope};
pub use plan::{Action, Precondition, Rejection, Write};
pub use summary::Summary;
pub use view::Listing;
pub use watch::Watch;
pub use writer::WriteError;

use view::View;
use writer::Writer;

/// How many events are kept for watches that come late or read slowly.
pub const HISTORY: usize = 20_000;

/// The objects of one cluster. Clones share them; the file is closed when the last one goes.
#[derive(Clone)]
pub struct Store {
    view: Arc<View>,
    writer: Arc<Writer>,
}

/// Whether what is written gets to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    Well,
    /// The last write was refused by the disk. The next one is tried all the same.
    Failing,
    /// The thread that writes has ended, and only another process can open the file.
    Closed,
}

impl Store {
    /// Opens the file, or makes it. Only one process can have it open.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::start(Disk::file(path)?, HISTORY)
    }

    /// Serves what is on a disk, keeping so many events.
    pub fn start(disk: Disk, history: usize) -> Result<Self, OpenError> {
        let view = Arc::new(View::new(disk.load(history)?));
        let writer = Writer::start(disk, Arc::clone(&view)).map_err(OpenError::Thread)?;
        Ok(Self { view, writer: Arc::new(writer) })
    }

    pub fn health(&self) -> Health {
        match (self.writer.is_closed(), self.view.is_failing()) {
            (true, _) => Health::Closed,
            (false, true) => Health::Failing,
            (false, false) => Health::Well,
        }
    }

    pub fn revision(&self) -> Revision {
        self.view.revision()
    }

    pub fn get(&self, key: &Key) -> Option<Arc<Entry>> {
        self.view.get(key)
    }

    /// Everything in a scope, at one revision.
    pub fn list(&self, scope: &Scope) -> Listing {
        self.view.list(scope)
    }

    /// What was in a scope at an earlier revision, for as long as the history reaches back to it: everything, or what comes
    /// after a key of that scope.
    pub fn list_at(
        &self,
        scope: &Scope,
        revision: Revision,
        after: Option<&Key>,
    ) -> Result<Listing, Expired> {
        self.view.list_at(scope, revision, after)
    }

    /// Events in a scope after a revision.
    pub fn watch(&self, scope: Scope, after: Revision) -> Result<Watch, Expired> {
        Watch::new(Arc::clone(&self.view), scope, after)
    }

    /// Puts an object and returns it as stored, with its revision. When this returns, it is on disk.
    pub async fn put(
        &self,
        key: Key,
        precondition: Precondition,
        value: Value,
    ) -> Result<Written, WriteError> {
        self.write(Write { key, precondition, action: Action::Put(value), guards: Vec::new() }).await
    }

    /// Deletes an object and returns its last state, with the revision of its deletion.
    pub async fn delete(&self, key: Key, precondition: Precondition) -> Result<Written, WriteError> {
        self.write(Write { key, precondition, action: Action::Delete, guards: Vec::new() }).await
    }

    /// Makes a write if all that it rests on holds, and returns what it left.
    pub async fn write(&self, write: Write) -> Result<Written, WriteError> {
        self.writer.write(write).await
    }
}

#[cfg(test)]
mod crash;
#[cfg(test)]
mod tests;
