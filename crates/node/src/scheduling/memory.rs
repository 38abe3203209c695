//! One look at all Pods: what is to be written, given what was decided before and does not show yet. Knows no API server.

mod loads;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use asb_core::pod::scheduler::{Decision, Load, Site, Victim, check_claims, decide_beside, order};
use asb_core::pod::selection::Labels;
use k8s_openapi::api::core::v1::{Node, PersistentVolumeClaim, Pod};
use tokio::time::Instant;

use self::loads::Loads;

pub(super) const UNSCHEDULABLE: &str = "Unschedulable";
pub(super) const GATED: &str = "SchedulingGated";
/// Not told to anybody: it takes a moment.
const CHOSEN: &str = "Chosen";

/// A Pod about which something could not be written is left alone for this long.
const PATIENCE: Duration = Duration::from_secs(1);

/// What there is at one moment.
pub(super) struct Snapshot<'a> {
    pub(super) node: &'a Node,
    pub(super) pods: &'a [Arc<Pod>],
    pub(super) namespaces: &'a BTreeMap<String, Labels>,
    /// By namespace and name.
    pub(super) claim: &'a dyn Fn(&str, &str) -> Option<Arc<PersistentVolumeClaim>>,
    /// Whether a claim gets its volume when a Pod is to have it.
    pub(super) is_delayed: &'a dyn Fn(&PersistentVolumeClaim) -> bool,
}

/// What is to be written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Bind(Arc<Pod>),
    /// It fits, which these claims waited for.
    Choose {
        pod: Arc<Pod>,
        claims: Vec<String>,
    },
    /// It waits, for this reason. Those who make room for it are told to go.
    Wait {
        pod: Arc<Pod>,
        reason: &'static str,
        message: String,
        victims: Vec<Victim>,
        is_nominated: bool,
    },
}

/// What was decided, by the uids of Pods.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Bound, and not seen to be yet.
    assumed: HashMap<String, Arc<Pod>>,
    waiting: HashMap<String, Waiting>,
    /// Told to go.
    evicted: HashSet<String>,
    failed: HashMap<String, Instant>,
    loads: Loads,
}

#[derive(Debug)]
struct Waiting {
    /// Of the Pod when it was looked at.
    version: Option<String>,
    told: (&'static str, String),
    /// Whether room is being made for it, which those of less priority do not get.
    is_nominated: bool,
}

impl Memory {
    /// Whether there is a Pod without node that was not looked at as it is now.
    pub(super) fn has_news(&self, pods: &[Arc<Pod>]) -> bool {
        pods.iter().filter(|pod| is_pending(pod) && !self.assumed.contains_key(uid(pod))).any(|pod| {
            let waiting = self.waiting.get(uid(pod));
            waiting.is_none_or(|waiting| waiting.version != pod.metadata.resource_version)
                && !self.failed.contains_key(uid(pod))
        })
    }

    /// Whether a look could find or forget anything.
    pub(super) fn is_needed(&self, pods: &[Arc<Pod>]) -> bool {
        let is_empty = self.assumed.is_empty()
            && self.waiting.is_empty()
            && self.evicted.is_empty()
            && self.failed.is_empty();
        !is_empty || pods.iter().any(|pod| is_pending(pod))
    }

    /// When to look again though nothing changes.
    pub(super) fn next(&self) -> Option<Instant> {
        self.failed.values().min().copied()
    }

    /// A write came too late, so it is not known who was told to go.
    pub(super) fn outdated(&mut self) {
        self.evicted.clear();
    }

    pub(super) fn failed(&mut self, uid: &str, now: Instant) {
        self.outdated();
        self.assumed.remove(uid);
        self.waiting.remove(uid);
        self.failed.insert(uid.to_owned(), now + PATIENCE);
    }

    /// Each step is handed out as it is decided.
    pub(super) fn plan(&mut self, snapshot: &Snapshot<'_>, now: Instant, mut emit: impl FnMut(Step)) {
        self.forget(snapshot, now);
        let assumed: Vec<_> = self.assumed.values().cloned().collect();
        let node = snapshot.node.metadata.name.as_deref();
        let bound = snapshot.pods.iter().filter(|pod| node_of(pod).is_some() && node_of(pod) == node);
        let mut present: Vec<&Pod> = bound.chain(&assumed).map(|pod| &**pod).collect();
        let mut load = Load::default();
        for pod in &present {
            load.add(self.loads.of(pod));
        }
        for pod in self.queue(snapshot.pods) {
            let decision = self.decide(pod, &present, &load, snapshot);
            if decision == Decision::Bind {
                present.push(pod);
                load.add(self.loads.of(pod));
            }
            if let Some(step) = self.note(pod, decision) {
                emit(step);
            }
        }
    }

    fn decide<'a>(
        &mut self,
        pod: &Pod,
        present: &[&'a Pod],
        load: &Load,
        snapshot: &Snapshot<'a>,
    ) -> Decision {
        let nominees = self.nominees(pod, snapshot);
        if nominees.is_empty() {
            return decision(pod, present, load, snapshot);
        }
        let mut load = load.clone();
        for nominee in &nominees {
            load.add(self.loads.of(nominee));
        }
        decision(pod, &[present, nominees.as_slice()].concat(), &load, snapshot)
    }

    fn note(&mut self, pod: &Arc<Pod>, decision: Decision) -> Option<Step> {
        match decision {
            Decision::NotOurs => None,
            Decision::Bind => {
                self.waiting.remove(uid(pod));
                self.assumed.insert(uid(pod).to_owned(), Arc::clone(pod));
                Some(Step::Bind(Arc::clone(pod)))
            }
            Decision::Choose(claims) => self.choose(pod, claims),
            Decision::Gated(message) => self.wait(pod, GATED, message, None),
            Decision::Unschedulable(message) => self.wait(pod, UNSCHEDULABLE, message, None),
            Decision::Preempt { victims, message } => self.wait(pod, UNSCHEDULABLE, message, Some(victims)),
        }
    }

    /// Its claims are told once.
    fn choose(&mut self, pod: &Arc<Pod>, claims: Vec<String>) -> Option<Step> {
        let told = (CHOSEN, claims.join(" "));
        let version = pod.metadata.resource_version.clone();
        let waiting = Waiting { version, told: told.clone(), is_nominated: false };
        let before = self.waiting.insert(uid(pod).to_owned(), waiting);
        let is_told = before.is_some_and(|before| before.told == told);
        (!is_told).then(|| Step::Choose { pod: Arc::clone(pod), claims })
    }

    /// What shows by now, or is gone.
    fn forget(&mut self, snapshot: &Snapshot<'_>, now: Instant) {
        let there: HashMap<&str, &Pod> = snapshot.pods.iter().map(|pod| (uid(pod), &**pod)).collect();
        let is_pending = |uid: &String| there.get(uid.as_str()).is_some_and(|pod| is_pending(pod));
        self.assumed.retain(|uid, _| is_pending(uid));
        self.waiting.retain(|uid, _| is_pending(uid));
        self.evicted.retain(|uid| there.contains_key(uid.as_str()));
        self.loads.keep(|uid| there.contains_key(uid));
        self.failed.retain(|uid, until| *until > now && is_pending(uid));
    }

    fn queue<'a>(&self, pods: &'a [Arc<Pod>]) -> Vec<&'a Arc<Pod>> {
        let is_due = |pod: &&Arc<Pod>| {
            is_pending(pod) && !self.assumed.contains_key(uid(pod)) && !self.failed.contains_key(uid(pod))
        };
        let mut queue: Vec<_> = pods.iter().filter(is_due).collect();
        queue.sort_by(|first, second| order(first, second));
        queue
    }

    /// Those who wait for room that is being made: they count as if they had it, unless the Pod matters more.
    fn nominees<'a>(&self, pod: &Pod, snapshot: &Snapshot<'a>) -> Vec<&'a Pod> {
        let is_nominated = |other: &&Arc<Pod>| {
            let seen = other.status.as_ref().and_then(|status| status.nominated_node_name.as_ref());
            let known = self.waiting.get(uid(other)).map(|waiting| waiting.is_nominated);
            is_pending(other)
                && !self.assumed.contains_key(uid(other))
                && known.unwrap_or(seen.is_some() && seen == snapshot.node.metadata.name.as_ref())
                && uid(other) != uid(pod)
                && priority(other) >= priority(pod)
        };
        snapshot.pods.iter().filter(is_nominated).map(|pod| &**pod).collect()
    }

    /// What is to be written of a Pod that waits: nothing, if it was and nobody new is to go.
    fn wait(
        &mut self,
        pod: &Arc<Pod>,
        reason: &'static str,
        message: String,
        victims: Option<Vec<Victim>>,
    ) -> Option<Step> {
        let was_nominated = self.waiting.get(uid(pod)).is_some_and(|waiting| waiting.is_nominated)
            || pod.status.as_ref().is_some_and(|status| status.nominated_node_name.is_some());
        let is_nominated = victims.is_some() || (was_nominated && awaits_room(&message));
        let mut victims = victims.unwrap_or_default();
        victims.retain(|victim| self.evicted.insert(victim.uid.clone()));
        let told = (reason, message.clone());
        let is_told = match self.waiting.get(uid(pod)) {
            Some(waiting) => waiting.told == told,
            None => shows(pod, reason, &message),
        };
        let version = pod.metadata.resource_version.clone();
        self.waiting.insert(uid(pod).to_owned(), Waiting { version, told, is_nominated });
        let is_new = !is_told || !victims.is_empty() || is_nominated != was_nominated;
        is_new.then(|| Step::Wait { pod: Arc::clone(pod), reason, message, victims, is_nominated })
    }
}

fn decision(pod: &Pod, beside: &[&Pod], load: &Load, snapshot: &Snapshot<'_>) -> Decision {
    let site = Site { node: snapshot.node, pods: beside, namespaces: snapshot.namespaces };
    let decision = decide_beside(pod, &site, load);
    if matches!(decision, Decision::NotOurs | Decision::Gated(_)) {
        return decision;
    }
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let claim = |name: &str| (snapshot.claim)(namespace, name);
    match check_claims(pod, beside, claim, snapshot.is_delayed) {
        Err(why) => Decision::Unschedulable(why),
        Ok(claims) if !claims.is_empty() && decision == Decision::Bind => Decision::Choose(claims),
        Ok(_) => decision,
    }
}

/// Whether it is told to wait only because others take their time to go.
fn awaits_room(message: &str) -> bool {
    message.ends_with("not eligible due to a terminating pod on the nominated node.")
}

fn uid(pod: &Pod) -> &str {
    pod.metadata.uid.as_deref().unwrap_or_default()
}

fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|node| !node.is_empty())
}

fn is_pending(pod: &Pod) -> bool {
    node_of(pod).is_none() && pod.metadata.deletion_timestamp.is_none()
}

fn priority(pod: &Pod) -> i32 {
    pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or_default()
}

/// Whether its condition says so already.
fn shows(pod: &Pod, reason: &str, message: &str) -> bool {
    let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|known| {
        (known.type_.as_str(), known.status.as_str()) == ("PodScheduled", "False")
            && known.reason.as_deref() == Some(reason)
            && known.message.as_deref() == Some(message)
    })
}

#[cfg(test)]
mod tests;
