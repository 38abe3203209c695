//! What is going to happen in the cluster without the operator: kubelets, the garbage collector, users.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::store::Id;

/// Something that one object is due for. The UID tells it from another of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    BindPod(Id, String),
    ReadyPod(Id, String),
    FailPod(Id, String),
    EndPod(Id, String),
    /// The garbage collector looks whether the owners are gone.
    Collect(Id, String),
    /// The garbage collector deletes what holds up a deletion in the foreground.
    Foreground(Id, String),
    /// Somebody's finalizer is taken off.
    Unguard(Id, String),
    UserActs,
    NodeChanges,
    /// The Pods of a node that is lost are asked to go.
    Evict,
    /// Something happens to a process of the operator.
    Trouble,
}

#[derive(Debug, Default)]
pub(crate) struct Agenda {
    deeds: BTreeMap<(Instant, u64), Deed>,
    count: u64,
}

impl Agenda {
    pub(crate) fn add(&mut self, after: Duration, deed: Deed) {
        self.count += 1;
        self.deeds.insert((Instant::now() + after, self.count), deed);
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.deeds.first_key_value().map(|((due, _), _)| *due)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.deeds.is_empty()
    }

    pub(crate) fn take_due(&mut self) -> Option<Deed> {
        let first = self.deeds.first_entry()?;
        (first.key().0 <= Instant::now()).then(|| first.remove())
    }
}
