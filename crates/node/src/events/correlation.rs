//! Which events are written: what is told again counts up, and who tells too much of one object is not heard. Pure.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use asb_core::conditions::whole_seconds;
use asb_core::pod::status::events::PodEvent;
use asb_core::report::Severity;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use kube::api::ObjectMeta;

/// How many objects and events are remembered.
const REMEMBERED: usize = 4096;
/// So much may be told of an object at once, and one more after each interval: as client libraries hold it.
const BURST: u32 = 25;
const INTERVAL: SignedDuration = SignedDuration::from_secs(300);
/// The API server takes no more of a message than this.
const LONGEST: usize = 1024;

/// An event as it was handed in.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) regarding: ObjectReference,
    pub(super) event: PodEvent,
    pub(super) component: Arc<str>,
    pub(super) host: Arc<str>,
    pub(super) at: Timestamp,
}

/// An event to be written whole, or its count.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Write {
    pub(super) event: Event,
    pub(super) is_new: bool,
}

/// What makes two events the same.
type Same = (Option<String>, Option<String>, String, String, Arc<str>);

#[derive(Debug, Default)]
pub(super) struct Correlation {
    known: HashMap<Same, Event>,
    budgets: HashMap<(Option<String>, Arc<str>), Budget>,
    last: i128,
}

/// What may still be told of an object.
#[derive(Clone, Copy, Debug)]
struct Budget {
    left: u32,
    since: Timestamp,
}

impl Correlation {
    /// Each event once, as it is after all that was told.
    pub(super) fn take(&mut self, told: impl Iterator<Item = Told>) -> Vec<Write> {
        let mut writes: BTreeMap<String, Write> = BTreeMap::new();
        for write in told.filter_map(|told| self.note(told)) {
            let name = write.event.metadata.name.clone().unwrap_or_default();
            let is_new = write.is_new || writes.get(&name).is_some_and(|earlier| earlier.is_new);
            writes.insert(name, Write { is_new, ..write });
        }
        writes.into_values().collect()
    }

    fn note(&mut self, told: Told) -> Option<Write> {
        if !self.is_heard(&told) {
            return None;
        }
        let same = (
            told.regarding.uid.clone(),
            told.regarding.field_path.clone(),
            told.event.reason.clone(),
            told.event.message.clone(),
            Arc::clone(&told.component),
        );
        if let Some(known) = self.known.get_mut(&same) {
            known.count = known.count.map(|count| count.saturating_add(1));
            known.last_timestamp = Some(whole_seconds(told.at));
            return Some(Write { event: known.clone(), is_new: false });
        }
        let event = self.event(told);
        make_room(&mut self.known, |event| event.last_timestamp.as_ref().map(|time| time.0));
        self.known.insert(same, event.clone());
        Some(Write { event, is_new: true })
    }

    fn is_heard(&mut self, told: &Told) -> bool {
        let key = (told.regarding.uid.clone(), Arc::clone(&told.component));
        make_room(&mut self.budgets, |budget| budget.since);
        let budget = self.budgets.entry(key).or_insert(Budget { left: BURST, since: told.at });
        budget.refill(told.at);
        let is_heard = budget.left > 0;
        budget.left = budget.left.saturating_sub(1);
        is_heard
    }

    fn event(&mut self, told: Told) -> Event {
        let Told { regarding, event, component, host, at } = told;
        let time = Some(whole_seconds(at));
        Event {
            metadata: ObjectMeta {
                name: Some(self.name(&regarding, at)),
                namespace: regarding.namespace.clone(),
                ..ObjectMeta::default()
            },
            type_: Some(match event.severity {
                Severity::Normal => "Normal".to_owned(),
                Severity::Warning => "Warning".to_owned(),
            }),
            reason: Some(event.reason),
            message: Some(shortened(event.message)),
            involved_object: regarding,
            first_timestamp: time.clone(),
            last_timestamp: time,
            count: Some(1),
            reporting_component: Some(component.to_string()),
            reporting_instance: Some(host.to_string()),
            source: Some(EventSource {
                component: Some(component.to_string()),
                host: Some(host.to_string()),
            }),
            ..Event::default()
        }
    }

    /// The object's, and the time: no two are the same.
    fn name(&mut self, regarding: &ObjectReference, at: Timestamp) -> String {
        self.last = at.as_nanosecond().max(self.last + 1);
        let object: String = regarding.name.iter().flat_map(|name| name.chars()).take(253 - 17).collect();
        format!("{object}.{:016x}", self.last)
    }
}

impl Budget {
    fn refill(&mut self, now: Timestamp) {
        while self.left < BURST && now.duration_since(self.since) >= INTERVAL {
            self.left += 1;
            self.since += INTERVAL;
        }
        // A clock that was set back begins anew.
        if self.left == BURST || now < self.since {
            self.since = now;
        }
    }
}

/// Forgets the older half when there are too many.
fn make_room<K, V, T: Ord + Clone>(known: &mut HashMap<K, V>, age: impl Fn(&V) -> T) {
    if known.len() < REMEMBERED {
        return;
    }
    let mut ages: Vec<_> = known.values().map(&age).collect();
    ages.sort();
    let median = ages[ages.len() / 2].clone();
    known.retain(|_, value| age(value) > median);
}

fn shortened(mut message: String) -> String {
    message.truncate(message.floor_char_boundary(LONGEST));
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(uid: &str, message: &str, second: i64) -> Told {
        let severity = Severity::Warning;
        Told {
            regarding: ObjectReference {
                name: Some("p".into()),
                namespace: Some("n".into()),
                uid: Some(uid.into()),
                ..ObjectReference::default()
            },
            event: PodEvent { severity, reason: "Failed".into(), message: message.into(), field: None },
            component: "kubelet".into(),
            host: "here".into(),
            at: Timestamp::from_second(second).unwrap(),
        }
    }

    fn take(correlation: &mut Correlation, told: &[Told]) -> Vec<(String, i32, bool)> {
        let read = |write: Write| (write.event.message.unwrap(), write.event.count.unwrap(), write.is_new);
        correlation.take(told.iter().cloned()).into_iter().map(read).collect()
    }

    #[test]
    fn what_is_told_again_counts_up() {
        let mut correlation = Correlation::default();
        let first = [told("u", "a", 1), told("u", "a", 2), told("u", "b", 2)];
        assert_eq!(take(&mut correlation, &first), [("a".into(), 2, true), ("b".into(), 1, true)]);
        assert_eq!(take(&mut correlation, &[told("u", "a", 3)]), [("a".into(), 3, false)]);
        assert_eq!(take(&mut correlation, &[told("other", "a", 3)]), [("a".into(), 1, true)]);
    }

    #[test]
    fn who_tells_too_much_is_not_heard_for_a_while() {
        let mut correlation = Correlation::default();
        let many: Vec<_> = (0..30).map(|number| told("u", &number.to_string(), 1)).collect();
        assert_eq!(take(&mut correlation, &many).len(), 25);
        assert_eq!(take(&mut correlation, &[told("u", "x", 300)]), []);
        assert_eq!(take(&mut correlation, &[told("u", "x", 301), told("u", "y", 301)]).len(), 1);
        assert_eq!(take(&mut correlation, &[told("v", "x", 301)]).len(), 1, "others are heard");
    }

    #[test]
    fn who_told_too_much_is_heard_again_though_the_clock_was_set_back() {
        let mut correlation = Correlation::default();
        let many: Vec<_> = (0..30).map(|number| told("u", &number.to_string(), 100_000)).collect();
        take(&mut correlation, &many);
        assert_eq!(take(&mut correlation, &[told("u", "x", 1)]), []);
        assert_eq!(take(&mut correlation, &[told("u", "x", 301)]).len(), 1);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut correlation = Correlation::default();
        for number in 0..10_000 {
            correlation.take([told(&number.to_string(), "m", number)].into_iter());
        }
        assert!(correlation.known.len() <= REMEMBERED && correlation.budgets.len() <= REMEMBERED);
    }

    #[test]
    fn an_event_is_as_a_kubelet_writes_it() {
        let event = Correlation::default().take([told("u", "m", 1)].into_iter()).remove(0).event;
        insta::assert_yaml_snapshot!(event);
    }
}
