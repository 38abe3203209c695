//! Changes that fail at one step after the other.

use std::cell::Cell;
use std::io;
use std::path::Path;

use super::durable::Gate;

/// Makes a change in a fresh directory, once for each of its steps, with everything from that step on failing as if the
/// process had died; and checks what is left each time, the last time after a change that came to its end.
pub(super) fn at_every_step(change: impl Fn(&Path, Gate<'_>) -> bool, check: impl Fn(&Path)) {
    for fatal in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let taken = Cell::new(0);
        let gate = || {
            taken.set(taken.get() + 1);
            if taken.get() > fatal { Err(io::Error::other("a planned failure")) } else { Ok(()) }
        };
        let is_done = change(folder.path(), &gate);
        check(folder.path());
        if is_done {
            assert!(fatal > 2, "a change has steps");
            return;
        }
    }
}
