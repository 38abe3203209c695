//! Changes below a directory, from `GET /v1/watch/{path}`: ours. One line of JSON each.

use serde::{Deserialize, Serialize};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub event: Event,
    /// Below the directory that is watched; empty for itself.
    pub path: String,
    /// Whether it is a directory.
    #[serde(default)]
    pub directory: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// The first line: from here on nothing is missed.
    Start,
    Create,
    Write,
    /// Mode, owner or times.
    Attributes,
    Remove,
    /// It went away by a rename, and `movedto` says where, if that is watched too.
    MovedFrom,
    MovedTo,
    /// There was too much at once, or too many directories: some of it is missing. List again.
    Overflow,
    /// The directory itself is gone; the last line.
    End,
}
