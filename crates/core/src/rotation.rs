//! When the webhook's certificates are made anew, so that no API server ever meets one that it does not trust.
//!
//! A certificate comes with an authority of its own, whose key is forgotten. A successor is *announced* first: its
//! authority is trusted beside the old one, while everybody still serves the old certificate. A day later everybody
//! serves it. Old authorities are trusted until they end. Everything follows from the certificates themselves, so that
//! several operators, or one after a restart, decide alike.

use jiff::{SignedDuration, Timestamp};

/// How long a certificate is good for.
pub const LIFETIME: SignedDuration = SignedDuration::from_hours(365 * 24);
/// Certificates begin earlier than they are made: clocks differ, and a client's may be behind.
pub const EARLIER: SignedDuration = SignedDuration::from_hours(1);
/// How long a successor is known before it is served.
const NOTICE: SignedDuration = SignedDuration::from_hours(24);
/// A certificate with less time than this left is no longer waited for.
const LAST_CALL: SignedDuration = SignedDuration::from_hours(1);
/// The successor is announced when this part of the lifetime is left: two months of a year.
const LAST_PART: i32 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    pub begins: Timestamp,
    pub ends: Timestamp,
}

/// What is at hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// What is served. Nothing where a client would not accept it now.
    pub serving: Option<Validity>,
    /// The successor, if one was announced and a client would accept it now.
    pub next: Option<Validity>,
    /// The authorities that clients are told to trust.
    pub authorities: Vec<Validity>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// All is well for now.
    Keep,
    /// Nothing that a client accepts is at hand: make a certificate and serve it at once.
    Replace,
    /// Make a successor, and have its authority trusted.
    Announce,
    /// Serve the successor.
    Switch,
    /// No longer name authorities that have ended.
    Forget,
}

/// Decides what to do about the certificates.
pub fn step(held: &Held, now: Timestamp) -> Step {
    match (&held.serving, &held.next) {
        (None, None) => Step::Replace,
        (None, Some(_)) => Step::Switch,
        (Some(serving), Some(next)) if is_due(serving, next, now) => Step::Switch,
        (Some(serving), None) if is_in_last_part(serving, now) => Step::Announce,
        _ if held.authorities.iter().any(|authority| authority.ends <= now) => Step::Forget,
        _ => Step::Keep,
    }
}

fn is_due(serving: &Validity, next: &Validity, now: Timestamp) -> bool {
    now.duration_since(next.begins) >= EARLIER + NOTICE || serving.ends.duration_since(now) <= LAST_CALL
}

fn is_in_last_part(serving: &Validity, now: Timestamp) -> bool {
    serving.ends.duration_since(now) <= serving.ends.duration_since(serving.begins) / LAST_PART
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(day: i64) -> Timestamp {
        Timestamp::from_second(day * 24 * 60 * 60).expect("a small number of days")
    }

    fn made_on(begin: i64) -> Validity {
        Validity { begins: day(begin).saturating_sub(EARLIER).expect("in range"), ends: day(begin + 365) }
    }

    fn held(serving: Option<i64>, next: Option<i64>) -> Held {
        let authorities = serving.iter().chain(&next).copied().map(made_on).collect();
        Held { serving: serving.map(made_on), next: next.map(made_on), authorities }
    }

    #[test]
    fn without_a_certificate_one_is_made_and_served_at_once() {
        assert_eq!(step(&Held::default(), day(1)), Step::Replace);
    }

    #[test]
    fn a_good_certificate_is_kept_until_two_months_before_its_end() {
        let held = held(Some(0), None);
        assert_eq!([step(&held, day(1)), step(&held, day(304))], [Step::Keep, Step::Keep]);
        assert_eq!([step(&held, day(305)), step(&held, day(364))], [Step::Announce, Step::Announce]);
    }

    #[test]
    fn a_successor_is_served_a_day_after_it_was_announced() {
        let held = held(Some(0), Some(305));
        let almost = day(306).saturating_sub(SignedDuration::from_secs(1)).expect("in range");
        assert_eq!([step(&held, almost), step(&held, day(306))], [Step::Keep, Step::Switch]);
    }

    #[test]
    fn a_successor_that_was_announced_late_is_served_before_the_old_one_ends() {
        let late = made_on(364).begins.saturating_add(SignedDuration::from_hours(20)).expect("in range");
        let next = Validity { begins: late, ends: day(700) };
        let held = Held { next: Some(next), ..held(Some(0), None) };
        let at = |hours: i64| {
            step(&held, day(365).saturating_sub(SignedDuration::from_hours(hours)).expect("in range"))
        };
        assert_eq!([at(3), at(1)], [Step::Keep, Step::Switch]);
    }

    #[test]
    fn an_announced_successor_serves_where_the_old_one_has_failed() {
        assert_eq!(step(&held(None, Some(0)), day(0)), Step::Switch);
    }

    #[test]
    fn authorities_are_trusted_until_they_end() {
        let mut held = held(Some(306), None);
        held.authorities.push(made_on(0));
        assert_eq!([step(&held, day(364)), step(&held, day(365))], [Step::Keep, Step::Forget]);
    }

    #[test]
    fn a_certificate_that_somebody_made_for_a_week_is_renewed_in_time_too() {
        let short = Validity { begins: day(0), ends: day(6) };
        let held = Held { serving: Some(short), next: None, authorities: vec![short] };
        assert_eq!([step(&held, day(4)), step(&held, day(5))], [Step::Keep, Step::Announce]);
    }
}
