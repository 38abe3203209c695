//! What a write rests on beside its own object. Whoever decides a write looks at other objects too (a namespace that takes
//! new ones, a definition, addresses that are free), and sees them as of a moment before: the write says what it saw, and is
//! made only if that still holds.

use std::fmt;
use std::sync::Arc;

use super::{Entry, Key, Revision, Scope};

#[derive(Clone)]
pub enum Guard {
    /// An object is there, and was not written since.
    Unchanged(Key, Revision),
    /// Nothing that was written in a scope since stands in the way.
    Free { scope: Scope, since: Revision, is_in_the_way: Arc<Obstruction> },
}

/// Whether an object stands in the way of another. Asked by the one thread that writes, so it should be quick.
pub type Obstruction = dyn Fn(&Entry) -> bool + Send + Sync;

impl fmt::Debug for Guard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unchanged(key, revision) => write!(formatter, "{key} unchanged since {revision}"),
            Self::Free { scope, since, .. } => write!(formatter, "{scope:?} free since {since}"),
        }
    }
}
