//! Who leads, among several operators that share one Lease. A clock is trusted only to measure how long *we* have seen the
//! Lease unchanged: the holder's own times are written by another clock and are never compared with ours.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// How long a leader may be silent, and how often it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Others take over after the Lease has not changed for this long.
    pub duration: SignedDuration,
    /// A leader that has not been able to renew for this long stops leading by itself, before others may take over.
    pub renew_deadline: SignedDuration,
    /// How often to try.
    pub retry: SignedDuration,
}

impl Default for Terms {
    fn default() -> Self {
        let seconds = SignedDuration::from_secs;
        Self { duration: seconds(15), renew_deadline: seconds(10), retry: seconds(2) }
    }
}

/// A Lease as it was read, and since when it has looked like that to us.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    pub object: Value,
    pub since: Timestamp,
}

impl Observed {
    /// Takes over what was read now. Only a change restarts the holder's time.
    #[must_use]
    pub fn refreshed(self, object: Value, now: Timestamp) -> Self {
        if self.object["spec"] == object["spec"] {
            Self { object, ..self }
        } else {
            Self { object, since: now }
        }
    }
}

/// What to do about the Lease.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Nobody has made it yet: create it as ours.
    Create(Value),
    /// Replace it by this one, if nobody else did: we lead once that succeeds.
    Replace(Value),
    /// Someone else leads.
    Wait,
}

/// Decides what `me` does next.
pub fn step(observed: Option<&Observed>, me: &str, terms: &Terms, now: Timestamp) -> Step {
    let Some(Observed { object, since }) = observed else {
        return Step::Create(spec(me, terms, now, now, 0));
    };
    let held = &object["spec"];
    let holder = held["holderIdentity"].as_str().unwrap_or_default();
    let transitions = held["leaseTransitions"].as_i64().unwrap_or_default();
    if holder == me {
        let acquired = held["acquireTime"].as_str().and_then(|text| text.parse().ok()).unwrap_or(now);
        return Step::Replace(with_spec(object, spec(me, terms, acquired, now, transitions)));
    }
    // The holder's own term counts, not ours: it may have been started with other settings.
    let term = held["leaseDurationSeconds"].as_i64().map_or(terms.duration, SignedDuration::from_secs);
    if holder.is_empty() || now.duration_since(*since) >= term {
        Step::Replace(with_spec(object, spec(me, terms, now, now, transitions + 1)))
    } else {
        Step::Wait
    }
}

/// The Lease as a leader leaves it that goes on purpose: the next one need not wait.
pub fn released(object: &Value, now: Timestamp) -> Value {
    let mut released = object.clone();
    released["spec"]["holderIdentity"] = json!("");
    released["spec"]["leaseDurationSeconds"] = json!(1);
    released["spec"]["renewTime"] = json!(micros(now));
    released
}

fn spec(me: &str, terms: &Terms, acquired: Timestamp, renewed: Timestamp, transitions: i64) -> Value {
    json!({
        "holderIdentity": me,
        "leaseDurationSeconds": terms.duration.as_secs(),
        "acquireTime": micros(acquired),
        "renewTime": micros(renewed),
        "leaseTransitions": transitions,
    })
}

fn with_spec(object: &Value, spec: Value) -> Value {
    let mut object = object.clone();
    object["spec"] = spec;
    object
}

fn micros(time: Timestamp) -> String {
    format!("{time:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a small number of seconds")
    }

    fn held_by(holder: &str, since: i64) -> Observed {
        let object = json!({
            "metadata": {"resourceVersion": "7"},
            "spec": spec(holder, &Terms::default(), at(1), at(1), 3),
        });
        Observed { object, since: at(since) }
    }

    fn decide(observed: &Observed, now: i64) -> Step {
        step(Some(observed), "me", &Terms::default(), at(now))
    }

    #[test]
    fn a_lease_that_is_not_there_is_made() {
        let Step::Create(spec) = step(None, "me", &Terms::default(), at(5)) else {
            panic!("nothing is in the way")
        };
        assert_eq!(spec["holderIdentity"], "me");
        assert_eq!(spec["renewTime"], "1970-01-01T00:00:05.000000Z");
    }

    #[test]
    fn another_leads_until_its_lease_has_not_changed_for_its_term() {
        assert_eq!(decide(&held_by("other", 100), 114), Step::Wait);
        let Step::Replace(lease) = decide(&held_by("other", 100), 115) else { panic!("its time is over") };
        assert_eq!(lease["spec"]["holderIdentity"], "me");
        assert_eq!(lease["spec"]["leaseTransitions"], 4);
        assert_eq!(lease["metadata"]["resourceVersion"], "7", "only if nobody else took it");
    }

    #[test]
    fn the_holders_clock_is_not_believed() {
        let mut observed = held_by("other", 100);
        observed.object["spec"]["renewTime"] = json!("2999-01-01T00:00:00Z");
        assert!(matches!(decide(&observed, 115), Step::Replace(_)));
        observed.object["spec"]["renewTime"] = json!("1970-01-01T00:00:00Z");
        assert_eq!(decide(&observed, 101), Step::Wait);
    }

    #[test]
    fn renewing_keeps_the_time_of_acquisition() {
        let Step::Replace(lease) = decide(&held_by("me", 100), 102) else { panic!("ours to renew") };
        assert_eq!(lease["spec"]["acquireTime"], "1970-01-01T00:00:01.000000Z");
        assert_eq!(lease["spec"]["renewTime"], "1970-01-01T00:01:42.000000Z");
        assert_eq!(lease["spec"]["leaseTransitions"], 3);
    }

    #[test]
    fn a_released_lease_is_taken_at_once() {
        let mut observed = held_by("other", 100);
        observed.object = released(&observed.object, at(100));
        assert!(matches!(decide(&observed, 100), Step::Replace(_)));
    }

    #[test]
    fn only_a_change_restarts_the_holders_time() {
        let observed = held_by("other", 100);
        let same = observed.clone().refreshed(observed.object.clone(), at(110));
        assert_eq!(same.since, at(100));
        let mut renewed = observed.object.clone();
        renewed["spec"]["renewTime"] = json!("1970-01-01T00:00:02.000000Z");
        assert_eq!(observed.refreshed(renewed, at(110)).since, at(110));
    }
}
