//! Actions of a plan: first written down, then begun. What they come to arrives as an outcome.

use std::future::Future;
use std::time::Duration;

use asb_core::pod::lifecycle::Action;
use asb_core::pod::observed::{Attempt, Container, Hook, Image, Sandbox, SandboxState, State, Stop, Volumes};
use asb_core::pod::probe::ProbeKind;
use jiff::Timestamp;
use tokio::sync::oneshot;

use super::keeper::Keeper;
use super::outcome::Outcome;
use super::work::probes::Probing;
use super::work::{self, Work};

/// What goes on one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lane {
    Volumes,
    Sandbox,
}

/// How long to wait before something is tried again that must work in the end.
const PATIENCE: Duration = Duration::from_secs(1);

/// A failure comes late, so that the next try does.
async fn patiently<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let result = work.await;
    if result.is_err() {
        tokio::time::sleep(PATIENCE).await;
    }
    result
}

impl Keeper {
    /// What the Pod's state is once the action has begun.
    pub(super) fn write_down(&mut self, action: &Action) {
        let now = Timestamp::now();
        match action {
            Action::End(ending) => self.observed().ending = Some(ending.clone()),
            Action::PrepareVolumes => {
                self.take_ids();
                self.observed().volumes = Volumes::Preparing;
            }
            Action::ReleaseVolumes => self.observed().volumes = Volumes::Releasing,
            Action::CreateSandbox { attempt } => self.write_down_sandbox(*attempt),
            Action::RemoveSandbox { .. } => self.sandbox(SandboxState::Removing),
            Action::PrepareImage { container, .. } => self.container(container).image = Image::Preparing,
            Action::Start { container, attempt, backoff } => {
                self.write_down_start(container, *attempt);
                let container = self.container(container);
                container.backoff = backoff.or(container.backoff);
            }
            Action::RunPostStart { container, attempt } => {
                self.attempt(container, *attempt, |attempt| attempt.post_start = Hook::Running);
            }
            Action::BeginStop { container, attempt, cause, grace } => {
                let stop = Stop::begin(*cause, *grace, now);
                self.attempt(container, *attempt, |attempt| attempt.stop = Some(stop));
            }
            Action::RunPreStop { container, attempt, .. } => {
                self.stop(container, *attempt, |stop| stop.pre_stop = Hook::Running);
            }
            Action::Signal { container, attempt } => {
                self.stop(container, *attempt, |stop| stop.signalled = Some(now));
            }
            Action::Kill { container, attempt } => {
                self.stop(container, *attempt, |stop| stop.killed = Some(now));
            }
            Action::StartProbe { container, attempt, kind } => {
                self.attempt(container, *attempt, |attempt| attempt.probing.extend([*kind]));
            }
            Action::StopProbe { container, attempt, kind } => {
                self.attempt(container, *attempt, |attempt| attempt.probing.retain(|other| other != kind));
            }
            Action::Remove { .. } | Action::DeletePod => {}
        }
    }

    /// The range of ids is the Pod's from here on.
    fn take_ids(&mut self) {
        if self.journal.ids.is_none() {
            self.journal.ids = self.tools.ids.take(&self.uid).ok();
        }
    }

    fn write_down_sandbox(&mut self, attempt: u32) {
        self.take_ids();
        let state = SandboxState::Creating;
        self.observed().sandbox = Some(Sandbox { attempt, state, addresses: Vec::new() });
    }

    fn write_down_start(&mut self, name: &str, number: u32) {
        let sandbox = self.journal.observed.ready_sandbox().unwrap_or_default();
        let id = format!("asb://{}-{name}-{number}", self.uid);
        let container = self.container(name);
        if let Some(old) = container.current.take() {
            container.last = old.exit().cloned();
            container.leftover.push(old.number);
        }
        container.trouble = None;
        container.current = Some(Attempt::begin(number, sandbox, id));
    }

    pub(super) fn begin(&mut self, action: Action) {
        let work = Work::of(self);
        match action {
            Action::End(_) | Action::BeginStop { .. } => {}
            Action::PrepareVolumes => self.spawn_after(Lane::Volumes, async move {
                Outcome::Volumes(work::volumes::prepare(&work).await)
            }),
            Action::ReleaseVolumes => self.spawn_after(Lane::Volumes, async move {
                Outcome::VolumesReleased(patiently(work::volumes::release(&work)).await)
            }),
            Action::CreateSandbox { .. } => self.spawn_after(Lane::Sandbox, async move {
                Outcome::Sandbox(work::sandbox::create(&work).await)
            }),
            Action::RemoveSandbox { .. } => {
                self.unfollow();
                self.spawn_after(Lane::Sandbox, async move {
                    Outcome::SandboxRemoved(patiently(work::sandbox::remove(&work)).await)
                });
            }
            Action::PrepareImage { container, attempt } => {
                let outcomes = self.outcomes.clone();
                self.spawn(async move { work::image::prepare(&work, container, attempt, &outcomes).await });
            }
            Action::Start { container, attempt, .. } => self.start(work, container, attempt),
            Action::RunPostStart { container, attempt } => self.spawn(async move {
                let result = work::hooks::post_start(&work, &container, attempt).await;
                Outcome::PostStart { container, attempt, result }
            }),
            Action::RunPreStop { container, attempt, within } => self.spawn(async move {
                let result = work::hooks::pre_stop(&work, &container, attempt, within).await;
                Outcome::PreStop { container, attempt, result }
            }),
            Action::Signal { container, attempt } => {
                let image = self.image(&container);
                self.run_silent(async move { work::stop::signal(&work, &container, attempt, &image).await });
            }
            Action::Kill { container, attempt } => self.run_silent(async move {
                work::stop::kill(&work, &container, attempt).await;
            }),
            Action::StartProbe { container, attempt, kind } => {
                self.start_probe(work, container, attempt, kind);
            }
            Action::StopProbe { container, attempt, kind } => self.stop_probe(container, attempt, kind),
            Action::Remove { container, attempt } => {
                if self.leaving.insert((container.clone(), attempt)) {
                    self.spawn(async move {
                        let result = patiently(work::container::remove(&work, &container, attempt)).await;
                        Outcome::Removed { container, attempt, result }
                    });
                }
            }
            Action::DeletePod => {
                if self.leaving.insert((String::new(), 0)) {
                    self.spawn(async move { Outcome::Deleted(work.delete_pod().await) });
                }
            }
        }
    }

    fn start(&mut self, work: Work, container: String, attempt: u32) {
        let image = self.image(&container);
        self.spawn(async move {
            let result = work::container::start(&work, &container, attempt, &image).await;
            Outcome::Created { container, attempt, result }
        });
    }

    /// The image that was found for a container.
    fn image(&mut self, container: &str) -> String {
        match &self.container(container).image {
            Image::Ready { id, .. } => id.clone(),
            _ => String::new(),
        }
    }

    fn start_probe(&mut self, work: Work, container: String, attempt: u32, kind: ProbeKind) {
        let Some(current) = self.journal.observed.attempt(&container).filter(|it| it.number == attempt)
        else {
            return;
        };
        let State::Running { since } = current.state else { return };
        let record = current.probes.get(&kind).copied().unwrap_or_default();
        let outcomes = self.outcomes.clone();
        let probing = Probing { container: container.clone(), attempt, kind, since, record };
        let probing = async move { probing.run(&work, &outcomes).await };
        let handle = self.jobs.spawn(probing);
        self.probes.insert((container, attempt, kind), handle);
    }

    fn stop_probe(&mut self, container: String, attempt: u32, kind: ProbeKind) {
        if let Some(handle) = self.probes.remove(&(container, attempt, kind)) {
            handle.abort();
        }
    }

    pub(super) fn spawn(&mut self, work: impl Future<Output = Outcome> + Send + 'static) {
        let outcomes = self.outcomes.clone();
        // Nobody waits for it once the keeper is gone.
        self.jobs.spawn(async move { drop(outcomes.send(work.await)) });
    }

    /// After what was begun in the same lane before: what is made is not removed while it is still being made.
    fn spawn_after(&mut self, lane: Lane, work: impl Future<Output = Outcome> + Send + 'static) {
        let (over, ended) = oneshot::channel::<()>();
        let before = self.lanes.insert(lane, ended);
        self.spawn(async move {
            if let Some(before) = before {
                // Its end is all that is waited for: nothing is ever sent.
                let _ = before.await;
            }
            let outcome = work.await;
            drop(over);
            outcome
        });
    }

    /// Its effect is seen elsewhere.
    fn run_silent(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.jobs.spawn(work);
    }

    /// Hears from now on what becomes of the containers of a sandbox.
    pub(super) fn follow_shim(&mut self, sandbox: u32) {
        let (work, outcomes) = (Work::of(self), self.outcomes.clone());
        self.unfollow();
        let handle = self.jobs.spawn(async move { work::sandbox::follow(&work, sandbox, &outcomes).await });
        self.shim = Some(handle);
    }

    pub(super) fn unfollow(&mut self) {
        if let Some(handle) = self.shim.take() {
            handle.abort();
        }
    }

    pub(super) fn container(&mut self, name: &str) -> &mut Container {
        self.observed().containers.entry(name.to_owned()).or_default()
    }

    /// Changes an attempt, if it is still the newest.
    pub(super) fn attempt(&mut self, name: &str, number: u32, change: impl FnOnce(&mut Attempt)) {
        if let Some(attempt) = self.container(name).current.as_mut().filter(|it| it.number == number) {
            change(attempt);
        }
    }

    pub(super) fn stop(&mut self, name: &str, number: u32, change: impl FnOnce(&mut Stop)) {
        self.attempt(name, number, |attempt| {
            if let Some(stop) = &mut attempt.stop {
                change(stop);
            }
        });
    }

    pub(super) fn sandbox(&mut self, state: SandboxState) {
        if let Some(sandbox) = &mut self.observed().sandbox {
            sandbox.state = state;
        }
    }

    /// Once a minute: what follows objects is written anew where they have changed, and what is used is measured.
    pub(super) fn make_round(&mut self) {
        if self.journal.observed.ready_sandbox().is_none() || self.journal.observed.ending.is_some() {
            return;
        }
        let work = Work::of(self);
        self.run_silent(async move { work::volumes::refresh(&work).await });
    }

    /// Whether it takes more of the disk than it may, where it may take only so much.
    pub(super) fn measure(&mut self) {
        let is_limited = self.pod.spec.as_ref().is_some_and(work::storage::is_limited);
        if !is_limited || self.journal.observed.ready_sandbox().is_none() || self.is_measuring {
            return;
        }
        self.is_measuring = true;
        let work = Work::of(self);
        self.spawn(async move { Outcome::Measured(work::storage::excess(&work).await) });
    }
}
