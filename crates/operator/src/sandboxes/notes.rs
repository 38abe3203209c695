//! What is remembered about each Sandbox between two looks at it. Most are worth no note.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use asb_core::object::{Key, Metadata, Uid};
use asb_core::sandbox::Memory;

/// By name, as what is gone is known by it, and with the UID of the one that is meant.
#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<HashMap<Key, (Uid, Memory)>>);

impl Notes {
    pub(super) fn of(&self, sandbox: &Metadata) -> Memory {
        let notes = self.notes();
        let note = notes.get(&sandbox.key).filter(|(uid, _)| *uid == sandbox.uid);
        note.map(|(_, memory)| memory.clone()).unwrap_or_default()
    }

    pub(super) fn keep(&self, sandbox: &Metadata, memory: Memory) {
        if memory.is_empty() {
            self.forget(&sandbox.key);
        } else {
            self.notes().insert(sandbox.key.clone(), (sandbox.uid.clone(), memory));
        }
    }

    pub(super) fn forget(&self, sandbox: &Key) {
        self.notes().remove(sandbox);
    }

    pub(crate) fn clear(&self) {
        self.notes().clear();
    }

    pub(crate) fn size(&self) -> usize {
        self.notes().len()
    }

    fn notes(&self) -> MutexGuard<'_, HashMap<Key, (Uid, Memory)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    fn sandbox(uid: &str) -> Metadata {
        let metadata = json!({"namespace": "team", "name": "demo", "uid": uid, "resourceVersion": "1"});
        Metadata::read(&json!({"metadata": metadata})).unwrap()
    }

    #[test]
    fn a_note_is_about_one_sandbox_and_goes_with_it() {
        let (notes, first, second) = (Notes::default(), sandbox("1"), sandbox("2"));
        let memory = Memory { put_off_since: Some(Timestamp::UNIX_EPOCH), ..Memory::default() };
        notes.keep(&first, memory.clone());
        assert_eq!((notes.of(&first), notes.of(&second)), (memory, Memory::default()));
        notes.keep(&second, Memory::default());
        assert_eq!(notes.size(), 0);
    }
}
