//! The operator's processes: which of them live, which are cut off from the cluster, and which one is in charge. None comes
//! twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use asb_operator::{Observer, Terms};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How a process is ended from outside.
#[derive(Clone, Debug, Default)]
pub(crate) struct End {
    /// At once.
    pub(crate) death: Arc<Notify>,
    /// It is asked to go.
    pub(crate) stop: CancellationToken,
}

#[derive(Debug)]
struct Process {
    end: End,
    /// Sees into it.
    observer: Option<Observer>,
    cut_off_until: Instant,
}

/// The Lease, if somebody has made it, and when its holder last wrote it.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    pub(crate) object: Value,
    pub(crate) written: Instant,
}

#[derive(Debug, Default)]
pub(crate) struct Processes {
    living: BTreeMap<u32, Process>,
    started: u32,
    /// Whether there are several, so that they need the Lease to agree.
    pub(crate) are_several: bool,
    pub(crate) lease: Option<Lease>,
}

impl Processes {
    pub(crate) fn start(&mut self) -> (u32, End) {
        self.started += 1;
        let process = Process { end: End::default(), observer: None, cut_off_until: Instant::now() };
        let end = process.end.clone();
        self.living.insert(self.started, process);
        (self.started, end)
    }

    /// From now on it can be seen into.
    pub(crate) fn watch(&mut self, process: u32, observer: Observer) {
        if let Some(process) = self.living.get_mut(&process) {
            process.observer = Some(observer);
        }
    }

    pub(crate) fn observers(&self) -> impl Iterator<Item = &Observer> {
        self.living.values().filter_map(|process| process.observer.as_ref())
    }

    pub(crate) fn is_alive(&self, process: u32) -> bool {
        self.living.contains_key(&process)
    }

    pub(crate) fn living(&self) -> Vec<u32> {
        self.living.keys().copied().collect()
    }

    /// It is gone, and whoever runs it hears so.
    pub(crate) fn end(&mut self, process: u32) {
        if let Some(process) = self.living.remove(&process) {
            process.end.death.notify_one();
        }
    }

    pub(crate) fn stop(&self, process: u32) {
        if let Some(process) = self.living.get(&process) {
            process.end.stop.cancel();
        }
    }

    /// Nothing comes or goes for so long.
    pub(crate) fn cut_off(&mut self, process: u32, time: Duration) {
        if let Some(process) = self.living.get_mut(&process) {
            process.cut_off_until = Instant::now() + time;
        }
    }

    /// Until when nothing that it sends arrives, and nothing that is sent to it.
    pub(crate) fn cut_off_until(&self, process: u32) -> Option<Instant> {
        let until = self.living.get(&process)?.cut_off_until;
        (Instant::now() < until).then_some(until)
    }

    /// Whether what it writes is in order: it holds a Lease that has not run out, or is the only one.
    pub(crate) fn is_in_charge(&self, process: u32) -> bool {
        if !self.are_several {
            return self.is_alive(process);
        }
        let term = Duration::try_from(Terms::default().duration).unwrap_or_default();
        self.lease.as_ref().is_some_and(|lease| {
            lease.object["spec"]["holderIdentity"] == identity(process) && lease.written.elapsed() < term
        })
    }
}

pub(crate) fn identity(process: u32) -> String {
    format!("operator-{process}")
}
