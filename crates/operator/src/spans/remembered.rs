//! Whether looks at objects are told of in traces, and which trace looks at an object belong to, until it says so itself.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use asb_core::object::{Key, Metadata, Uid};
use asb_core::write::Kind;

/// By name, as what is gone is known by it, and with the UID of the one that is meant.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    is_wanted: AtomicBool,
    traces: Mutex<Traces>,
}

type Traces = HashMap<(Kind, Key), (Uid, Arc<str>)>;

impl Remembered {
    /// From here on, somebody listens. Asking tracing itself whether it is so would make it lose the next line of the log:
    /// <https://github.com/tokio-rs/tracing/issues/2519>.
    pub(crate) fn begin(&self) {
        self.is_wanted.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed)
    }

    /// The trace of an object that names none itself.
    pub(crate) fn of(&self, kind: Kind, metadata: &Metadata) -> Option<Arc<str>> {
        if !self.is_wanted() {
            return None;
        }
        let traces = self.traces();
        let (uid, trace) = traces.get(&(kind, metadata.key.clone()))?;
        (*uid == metadata.uid).then(|| Arc::clone(trace))
    }

    pub(super) fn keep(&self, kind: Kind, metadata: &Metadata, trace: Arc<str>) {
        self.traces().insert((kind, metadata.key.clone()), (metadata.uid.clone(), trace));
    }

    pub(super) fn forget(&self, kind: Kind, key: &Key) {
        self.traces().remove(&(kind, key.clone()));
    }

    pub(crate) fn clear(&self) {
        self.traces().clear();
    }

    pub(crate) fn size(&self) -> usize {
        self.traces().len()
    }

    fn traces(&self) -> MutexGuard<'_, Traces> {
        self.traces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
