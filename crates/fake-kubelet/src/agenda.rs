//! Which Pods to look at: now, in the order they asked for it, or at a time to come. A Pod is on the list at most
//! once and has at most one timer.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;

/// A Pod's uid, shared by all that point at the Pod.
pub(super) type Uid = Arc<str>;

#[derive(Debug, Default)]
pub(super) struct Agenda {
    queue: VecDeque<Uid>,
    queued: HashSet<Uid>,
    timers: BTreeSet<(Timestamp, Uid)>,
    times: HashMap<Uid, Timestamp>,
}

impl Agenda {
    pub(super) fn now(&mut self, uid: &Uid) {
        if self.queued.insert(uid.clone()) {
            self.queue.push_back(uid.clone());
        }
    }

    /// Sets the Pod's timer, or takes it away.
    pub(super) fn at(&mut self, uid: &Uid, time: Option<Timestamp>) {
        if let Some(old) = self.times.remove(uid) {
            self.timers.remove(&(old, uid.clone()));
        }
        if let Some(time) = time {
            self.times.insert(uid.clone(), time);
            self.timers.insert((time, uid.clone()));
        }
    }

    pub(super) fn pop(&mut self) -> Option<Uid> {
        let uid = self.queue.pop_front()?;
        self.queued.remove(&uid);
        Some(uid)
    }

    /// Puts the Pods whose time has come on the list.
    pub(super) fn ring(&mut self, now: Timestamp) {
        while let Some((_, uid)) = self.timers.first().filter(|(time, _)| *time <= now).cloned() {
            self.at(&uid, None);
            self.now(&uid);
        }
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.timers.first().map(|(time, _)| *time)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{NOON, after};
    use super::*;

    #[test]
    fn a_pod_is_on_the_list_once() {
        let (mut agenda, uid) = (Agenda::default(), Uid::from("a"));
        agenda.now(&uid);
        agenda.now(&uid);
        assert_eq!((agenda.pop(), agenda.pop()), (Some(uid), None));
    }

    #[test]
    fn a_new_timer_replaces_the_old_one() {
        let (mut agenda, uid) = (Agenda::default(), Uid::from("a"));
        agenda.at(&uid, Some(NOON));
        agenda.at(&uid, Some(after(5)));
        agenda.ring(NOON);
        assert_eq!((agenda.pop(), agenda.next()), (None, Some(after(5))));
    }

    #[test]
    fn timers_ring_in_order_and_only_when_due() {
        let (mut agenda, early, late) = (Agenda::default(), Uid::from("early"), Uid::from("late"));
        agenda.at(&late, Some(after(2)));
        agenda.at(&early, Some(after(1)));
        agenda.at(&Uid::from("later"), Some(after(3)));
        agenda.ring(after(2));
        assert_eq!((agenda.pop(), agenda.pop(), agenda.pop()), (Some(early), Some(late), None));
        assert_eq!(agenda.next(), Some(after(3)));
    }
}
