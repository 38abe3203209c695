//! A kubelet without containers: Pods get bound, become Ready with an address, end and go away through plain API
//! calls, so operators can be tested and measured on any Kubernetes API, ours or the original, without a node.
//!
//! What becomes of a Pod is its [`Script`]: the default one, or that of the first [`Builder::rule`] to match, and
//! on top of it what the Pod's annotations say, read at every look:
//!
//! | annotation `fake-kubelet.test/…` | value |
//! |---|---|
//! | `outcome` | `run`, `succeed`, `fail`, `never-ready`, `unschedulable` |
//! | `start-after`, `ready-after`, `finish-after` | delay since the Pod was bound, such as `50ms` |
//! | `terminate-after` | delay since its deletion, cut short by its grace period |
//! | `exit-code` | of all its containers; 0 or 1 by outcome if absent |
//! | `reason`, `pod-reason` | why the containers ended (`OOMKilled`), why the Pod did (`Evicted`) |
//!
//! A Pod whose annotations make no sense fails with the reason `BadScript`. Containers that ended are not
//! restarted, whatever `restartPolicy` says. Taints, resources and volumes play no part in binding, and a Pod
//! that selects no node of a fake kubelet is left as it is. Finalizers are never touched.
//!
//! Beside a real scheduler, a fake kubelet's node is tainted so that no other test's Pods arrive on it; where there
//! are real nodes too, Pods meant for the fake one need a `schedulerName` of its own ([`Builder::scheduler`]).

mod addresses;
mod agenda;
mod apply;
mod builder;
mod conditions;
mod containers;
mod driver;
#[cfg(test)]
mod fixtures;
mod node;
mod plan;
mod pods;
mod rules;
mod script;
mod stage;
mod status;

use kube::Client;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub use self::addresses::BadRange;
pub use self::builder::Builder;
pub use self::rules::Match;
pub use self::script::{Outcome, Script};

/// A fake kubelet at work. It ends with [`FakeKubelet::shutdown`], or when dropped.
pub struct FakeKubelet {
    node: String,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Tally>,
}

/// What a fake kubelet has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub bindings: usize,
    pub statuses: usize,
    pub removals: usize,
    /// Writes refused because the Pod had changed or gone; normal, and settled by the watch.
    pub overtaken: usize,
    /// Writes that failed and were tried again.
    pub errors: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot hand out Pod addresses")]
    Range(#[from] BadRange),
    #[error("cannot register node {node}")]
    Register { node: String, source: Box<kube::Error> },
}

impl FakeKubelet {
    pub fn builder(client: Client) -> Builder {
        Builder::new(client)
    }

    /// The name of its node.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Ends it, takes its Node away and tells what it did. Pods stay as they are.
    pub async fn shutdown(mut self) -> Tally {
        if let Some(stop) = self.stop.take() {
            // A driver that is gone already needs no telling.
            let _ = stop.send(());
        }
        match (&mut self.task).await {
            Ok(tally) => tally,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

impl Drop for FakeKubelet {
    fn drop(&mut self) {
        self.task.abort();
    }
}
