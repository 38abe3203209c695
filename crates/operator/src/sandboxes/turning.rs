//! Counts the turns of Sandboxes' lives once the status that tells of them is written: also when it is, as it turns out
//! later, although nobody answered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use asb_core::object::{Key, Uid};
use asb_core::sandbox::{Status, Turn, turns};
use asb_core::views::SandboxView;
use asb_types::v1beta1::SandboxStatus;
use jiff::Timestamp;

use crate::context::{Context, Stumble};
use crate::metrics::Metrics;

/// What is to be counted once this is written.
pub(super) struct Telling {
    uid: Uid,
    status: SandboxStatus,
    turns: Vec<Turn>,
}

pub(super) struct Turning {
    metrics: Arc<Metrics>,
    unanswered: Mutex<HashMap<Key, Telling>>,
}

impl Turning {
    pub(super) fn new(metrics: &Arc<Metrics>) -> Self {
        Self { metrics: Arc::clone(metrics), unanswered: Mutex::default() }
    }

    pub(super) fn begin(context: &Context, sandbox: &SandboxView, next: &Status, now: Timestamp) -> Telling {
        let asked_at = context.caches.read(|world| world.mode_changes.get(&sandbox.metadata));
        let turns = turns(sandbox, &next.reported.conditions, asked_at, now);
        Telling { uid: sandbox.metadata.uid.clone(), status: next.reported.clone(), turns }
    }

    /// Counts what a Sandbox says by now.
    pub(super) fn catch_up(&self, sandbox: &SandboxView) {
        let is_told =
            |telling: &Telling| telling.uid == sandbox.metadata.uid && telling.status == sandbox.status;
        if let Some(telling) = self.forget(&sandbox.metadata.key).filter(is_told) {
            self.count(sandbox, telling);
        }
    }

    pub(super) fn forget(&self, sandbox: &Key) -> Option<Telling> {
        self.unanswered().remove(sandbox)
    }

    pub(super) fn end(&self, sandbox: &SandboxView, telling: Telling, written: &Result<(), Stumble>) {
        match written {
            Ok(()) => self.count(sandbox, telling),
            Err(Stumble::Unanswered(..)) if !telling.turns.is_empty() => {
                self.unanswered().insert(sandbox.metadata.key.clone(), telling);
            }
            Err(_) => {}
        }
    }

    fn count(&self, sandbox: &SandboxView, telling: Telling) {
        for turn in telling.turns {
            self.metrics.sandboxes.turned(sandbox, turn);
        }
    }

    fn unanswered(&self) -> MutexGuard<'_, HashMap<Key, Telling>> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
