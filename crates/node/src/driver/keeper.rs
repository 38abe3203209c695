//! One Pod: looked at, carried on, reported, until nothing of it is left.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use asb_core::pod::backoff::Backoff;
use asb_core::pod::lifecycle::{Halt, Sight, plan};
use asb_core::pod::observed::{Observed, SandboxState, Volumes};
use asb_core::pod::probe::ProbeKind;
use asb_core::pod::scheduler::Rejection;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use tokio::sync::{Mutex, Notify, mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};

use super::begin::Lane;
use super::journal::Journal;
use super::outcome::Outcome;
use super::tools::Tools;
use crate::shim::directory::Directory;
use crate::volumes::token::Tokens;

/// How often files that follow objects are looked at, as kubelets do, even where no change was heard of.
const ROUND: Duration = Duration::from_mins(1);
/// How often it is measured what a Pod takes of the disk.
const MEASURED: Duration = Duration::from_secs(10);

pub(super) struct Keeper {
    pub(super) tools: Arc<Tools>,
    pub(super) uid: String,
    /// The newest that is known.
    pub(super) pod: Arc<Pod>,
    /// Whether the API has let go of it.
    pub(super) is_gone: bool,
    pub(super) journal: Journal,
    saved: Option<Journal>,
    pub(super) rejection: Option<Rejection>,
    /// What events have told of so far.
    pub(super) story: Observed,
    pub(super) told: Option<PodStatus>,
    pub(super) is_telling: bool,
    pub(super) is_measuring: bool,
    pub(super) outcomes: mpsc::UnboundedSender<Outcome>,
    inbox: mpsc::UnboundedReceiver<Outcome>,
    news: watch::Receiver<Option<Arc<Pod>>>,
    files: Arc<Notify>,
    halt: watch::Receiver<Option<Halt>>,
    pub(super) probes: BTreeMap<(String, u32, ProbeKind), AbortHandle>,
    pub(super) shim: Option<AbortHandle>,
    pub(super) tokens: Arc<Mutex<Tokens>>,
    pub(super) failures: Failures,
    pub(super) lanes: BTreeMap<Lane, oneshot::Receiver<()>>,
    /// Attempts that are being cleared away, and the Pod itself under no name.
    pub(super) leaving: BTreeSet<(String, u32)>,
    /// Ends what is still at work when the keeper goes.
    pub(super) jobs: JoinSet<()>,
}

/// What has failed in a row so far, and is forgotten once it works.
#[derive(Default)]
pub(super) struct Failures {
    pub(super) volumes: u32,
    pub(super) sandbox: u32,
    pub(super) pulls: BTreeMap<String, Backoff>,
}

/// A Pod that a keeper is to begin with.
pub(super) struct Charge {
    pub(super) pod: Arc<Pod>,
    /// What an earlier keeper wrote.
    pub(super) journal: Option<Journal>,
    pub(super) rejection: Option<Rejection>,
    /// The Pod as it changes; nothing once the API has let go of it.
    pub(super) news: watch::Receiver<Option<Arc<Pod>>>,
    /// Woken when an object has changed that its files follow.
    pub(super) files: Arc<Notify>,
}

impl Keeper {
    pub(super) fn new(tools: Arc<Tools>, charge: Charge) -> Self {
        let Charge { pod, journal, rejection, news, files } = charge;
        let (outcomes, inbox) = mpsc::unbounded_channel();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let journal = journal.unwrap_or_else(|| Journal {
            namespace: text(&pod.metadata.namespace),
            name: text(&pod.metadata.name),
            observed: super::recovery::remembered(&pod),
            ids: None,
            address: None,
        });
        Self {
            uid: text(&pod.metadata.uid),
            halt: tools.halt.subscribe(),
            told: pod.status.clone(),
            story: journal.observed.clone(),
            tools,
            pod,
            is_gone: false,
            saved: None,
            rejection,
            is_telling: false,
            is_measuring: false,
            outcomes,
            inbox,
            news,
            files,
            probes: BTreeMap::new(),
            shim: None,
            tokens: Arc::default(),
            failures: Failures::default(),
            lanes: BTreeMap::new(),
            leaving: BTreeSet::new(),
            jobs: JoinSet::new(),
            journal,
        }
    }

    pub(super) fn observed(&mut self) -> &mut Observed {
        &mut self.journal.observed
    }

    pub(super) fn directory(&self) -> Directory {
        self.tools.directory(&self.uid)
    }

    pub(super) fn sight(&self) -> Sight<'_> {
        Sight {
            pod: &self.pod,
            observed: &self.journal.observed,
            rejection: self.rejection.as_ref(),
            halt: *self.halt.borrow(),
            now: Timestamp::now(),
        }
    }

    /// Returns when nothing of the Pod is left on this machine, or when the node goes down and it has stopped.
    pub(super) async fn run(mut self) {
        self.recover().await;
        let files = Arc::clone(&self.files);
        let (mut round, mut measured) = (later(ROUND.min(self.tools.token_age)), later(MEASURED));
        loop {
            let next_look = self.step();
            if self.is_over() {
                return self.forget().await;
            }
            if self.rests() {
                return;
            }
            let sleep = async {
                match next_look {
                    Some(then) => tokio::time::sleep(until(then)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(outcome) = self.inbox.recv() => self.note(outcome),
                Ok(()) = self.news.changed() => self.hear(),
                Ok(()) = self.halt.changed() => {}
                () = sleep => {}
                _ = round.tick() => self.make_round(),
                () = files.notified() => self.make_round(),
                _ = measured.tick() => self.measure(),
                Some(_) = self.jobs.join_next() => {}
            }
        }
    }

    /// Takes every step that can be taken now; returns when to look again.
    fn step(&mut self) -> Option<Timestamp> {
        loop {
            self.drain();
            let plan = plan(self.sight());
            let before = self.journal.observed.clone();
            for action in &plan.actions {
                self.write_down(action);
            }
            if let Err(error) = self.save() {
                // What cannot be written down is not begun.
                tracing::error!(%error, pod = %self.journal.name, "cannot keep the state of a Pod");
                self.journal.observed = before;
                return Some(Timestamp::now() + Duration::from_secs(1));
            }
            let is_changed = before != self.journal.observed;
            for action in plan.actions {
                self.begin(action);
            }
            self.tell();
            if !is_changed {
                return plan.next_look;
            }
        }
    }

    /// Work that ends at once is seen before it is told of.
    fn drain(&mut self) {
        while let Ok(outcome) = self.inbox.try_recv() {
            self.note(outcome);
        }
    }

    fn save(&mut self) -> std::io::Result<()> {
        if self.saved.as_ref() != Some(&self.journal) {
            self.journal.write(self.directory().root())?;
            self.saved = Some(self.journal.clone());
        }
        Ok(())
    }

    /// The API has news of the Pod.
    fn hear(&mut self) {
        let news = self.news.borrow_and_update().clone();
        match news {
            Some(pod) => self.learn(pod),
            None => self.let_go(),
        }
    }

    /// Of two versions the newer one counts: answers to what we write come before the watch tells of them.
    pub(super) fn learn(&mut self, pod: Arc<Pod>) {
        let version = |pod: &Pod| -> Option<u64> { pod.metadata.resource_version.as_deref()?.parse().ok() };
        if !self.is_gone && version(&pod) > version(&self.pod) {
            let (new, old) = (&pod.metadata, &self.pod.metadata);
            if new.labels != old.labels || new.annotations != old.annotations {
                self.files.notify_one();
            }
            self.pod = pod;
        }
    }

    /// As if it had been deleted without any grace, which it may have been.
    pub(super) fn let_go(&mut self) {
        let mut pod = Pod::clone(&self.pod);
        pod.metadata.deletion_timestamp.get_or_insert_with(|| Time(Timestamp::now()));
        pod.metadata.deletion_grace_period_seconds = Some(0);
        self.pod = Arc::new(pod);
        self.is_gone = true;
    }

    /// Whether the node goes down, nothing of the Pod runs any more, and that has been told.
    fn rests(&self) -> bool {
        self.halt.borrow().is_some() && !self.journal.observed.is_live() && !self.is_telling
    }

    fn is_over(&self) -> bool {
        let observed = &self.journal.observed;
        let is_clear = |state: &SandboxState| matches!(state, SandboxState::Gone | SandboxState::Failed(_));
        self.is_gone
            && self.leaving.is_empty()
            && observed.volumes == Volumes::Absent
            && observed.sandbox.as_ref().is_none_or(|sandbox| is_clear(&sandbox.state))
            && !observed.is_live()
    }
}

impl Keeper {
    /// The last that is left: directories, logs, and what others keep for the Pod.
    async fn forget(self) {
        let work = super::work::Work::of(&self);
        if let Err(error) = super::work::forget(&work).await {
            tracing::warn!(pod = %self.journal.name, error, "what a Pod left is removed at the next start");
        }
        if let Some(ids) = self.journal.ids {
            self.tools.ids.give_back(ids);
        }
    }
}

fn later(period: Duration) -> tokio::time::Interval {
    let mut interval = tokio::time::interval_at(Instant::now() + period, period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

fn until(then: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(Timestamp::now())).unwrap_or_default()
}
