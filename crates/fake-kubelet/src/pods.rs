//! The Pods this kubelet looks after: fed by watch events and results, asked for work. Synchronous and without a
//! client or clock, so that the driver has nothing left to decide.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::runtime::watcher::Event;

use super::addresses::Addresses;
use super::agenda::{Agenda, Uid};
use super::apply::{Applied, Work};
use super::plan::{self, Action, Memory, Place, Sight};
use super::rules::Rules;

/// How long after a failed write, or without an address to give, a Pod is looked at again.
const RETRY: Duration = Duration::from_millis(250);

pub(super) struct Pods {
    place: Place,
    rules: Rules,
    addresses: Addresses,
    entries: HashMap<Uid, Entry>,
    agenda: Agenda,
    /// Counts the lists, to tell the Pods that a new one no longer has.
    round: u64,
    listed: bool,
}

struct Entry {
    pod: Pod,
    memory: Memory,
    state: State,
    round: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// A write is under way.
    Busy,
    /// A write is under way, and the Pod was to be looked at meanwhile.
    BusyAgain,
    /// Removed by this kubelet; the watch is late.
    Gone,
}

impl Pods {
    pub(super) fn new(place: Place, rules: Rules, addresses: Addresses) -> Self {
        let (entries, agenda) = (HashMap::new(), Agenda::default());
        Self { place, rules, addresses, entries, agenda, round: 0, listed: false }
    }

    pub(super) fn event(&mut self, event: Event<Pod>, now: Timestamp) {
        match event {
            Event::Init => self.round += 1,
            Event::InitApply(pod) | Event::Apply(pod) => self.seen(pod, now),
            Event::Delete(pod) => self.forget(&uid(&pod)),
            Event::InitDone => self.end_list(),
        }
    }

    /// The next write to make, if a Pod needs one. None before the first list is complete: an address may belong
    /// to a Pod not seen yet.
    pub(super) fn work(&mut self, now: Timestamp) -> Option<Work> {
        self.agenda.ring(now);
        while self.listed {
            let uid = self.agenda.pop()?;
            if let Some(work) = self.look(&uid, now) {
                return Some(work);
            }
        }
        None
    }

    /// When there may be work though nothing happens.
    pub(super) fn next_look(&self) -> Option<Timestamp> {
        self.agenda.next()
    }

    /// Takes in what became of a write; without a result it failed.
    pub(super) fn applied(&mut self, uid: &Uid, result: Option<Applied>, now: Timestamp) {
        let Some(entry) = self.entries.get_mut(uid) else { return };
        let again = entry.state == State::BusyAgain;
        entry.state = State::Idle;
        match result {
            Some(Applied::Bound) => {
                entry.bind(&self.place.node, now);
                self.agenda.now(uid);
            }
            Some(Applied::Updated(pod)) => {
                entry.update(*pod, now);
                self.agenda.now(uid);
            }
            Some(Applied::Removed) => entry.state = State::Gone,
            Some(Applied::Overtaken) if again => self.agenda.now(uid),
            Some(Applied::Overtaken) => {}
            None => self.agenda.at(uid, Some(now + RETRY)),
        }
    }

    fn seen(&mut self, pod: Pod, now: Timestamp) {
        let uid = uid(&pod);
        if plan::node(&pod).is_some_and(|node| node != self.place.node) {
            return self.forget(&uid);
        }
        let addresses = &mut self.addresses;
        let entry = self.entries.entry(uid.clone()).or_insert_with(|| {
            let entry = Entry::new(pod.clone(), now);
            addresses.reserve(&entry.memory.addresses);
            entry
        });
        entry.round = self.round;
        entry.update(pod, now);
        self.agenda.now(&uid);
    }

    fn forget(&mut self, uid: &Uid) {
        if let Some(entry) = self.entries.remove(uid) {
            self.addresses.give_back(&entry.memory.addresses);
            self.agenda.at(uid, None);
        }
    }

    fn end_list(&mut self) {
        self.listed = true;
        let old = self.entries.iter().filter(|(_, entry)| entry.round != self.round);
        for uid in old.map(|(uid, _)| uid.clone()).collect::<Vec<_>>() {
            self.forget(&uid);
        }
    }

    fn look(&mut self, uid: &Uid, now: Timestamp) -> Option<Work> {
        let entry = self.entries.get_mut(uid)?;
        match entry.state {
            State::Idle => {}
            State::Busy | State::BusyAgain => {
                entry.state = State::BusyAgain;
                return None;
            }
            State::Gone => return None,
        }
        if !entry.settle(&mut self.addresses) {
            self.agenda.at(uid, Some(now + RETRY));
            return None;
        }
        let script = self.rules.script(&entry.pod);
        let plan = plan::plan(Sight {
            pod: &entry.pod,
            script: &script,
            place: &self.place,
            memory: &entry.memory,
            now,
        });
        self.agenda.at(uid, plan.next_look);
        plan.action.map(|action| entry.work(uid, &self.place.node, action))
    }
}

impl Entry {
    fn new(pod: Pod, now: Timestamp) -> Self {
        let memory = Memory::default().noting(&pod, now);
        Self { pod, memory, state: State::Idle, round: 0 }
    }

    /// The watch may lag behind the answers to this kubelet's own writes; the newer sight stays.
    fn update(&mut self, pod: Pod, now: Timestamp) {
        if version(&pod) >= version(&self.pod) {
            self.memory = std::mem::take(&mut self.memory).noting(&pod, now);
            self.pod = pod;
        }
    }

    /// Does to the Pod what the API server did, so that its start need not wait for the watch.
    fn bind(&mut self, node: &str, now: Timestamp) {
        self.pod.spec.get_or_insert_default().node_name = Some(node.to_owned());
        self.memory = std::mem::take(&mut self.memory).noting(&self.pod, now);
    }

    /// Sees to it that a bound Pod has its addresses; false when there are none left.
    fn settle(&mut self, addresses: &mut Addresses) -> bool {
        if self.memory.bound.is_some() && self.memory.addresses.is_empty() {
            self.memory.addresses = addresses.take().unwrap_or_default();
        }
        self.memory.bound.is_none() || !self.memory.addresses.is_empty()
    }

    fn work(&mut self, uid: &Uid, node: &str, action: Action) -> Work {
        self.state = State::Busy;
        Work {
            namespace: self.pod.namespace().unwrap_or_default(),
            name: self.pod.name_any(),
            uid: uid.clone(),
            node: node.to_owned(),
            action,
        }
    }
}

fn uid(pod: &Pod) -> Uid {
    pod.metadata.uid.as_deref().unwrap_or_default().into()
}

/// Versions of one kind are numbers that grow; Kubernetes promises as much since 1.35.
fn version(pod: &Pod) -> u64 {
    let version = pod.metadata.resource_version.as_deref();
    version.and_then(|version| version.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
