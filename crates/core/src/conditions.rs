//! The list of conditions in a status: each type once, and a transition time that moves only when the status flips.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// What a condition says, apart from when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub status: Truth,
    pub reason: String,
    pub message: String,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    True,
    False,
    Unknown,
}

impl Truth {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl Verdict {
    pub fn new(status: impl Into<Truth>, reason: &str, message: impl Into<String>) -> Self {
        Self { status: status.into(), reason: reason.to_owned(), message: message.into() }
    }
}

pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    find(conditions, type_).is_some_and(|condition| condition.status == "True")
}

/// Writes one condition in its place, or at the end.
pub fn set(conditions: &mut Vec<Condition>, type_: &str, verdict: Verdict, generation: i64, now: Timestamp) {
    let known = conditions.iter_mut().find(|condition| condition.type_ == type_);
    let status = verdict.status.as_str();
    let since =
        known.as_ref().filter(|known| known.status == status).map(|known| known.last_transition_time.clone());
    let condition = Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: verdict.reason,
        message: clipped(verdict.message),
        observed_generation: Some(generation),
        last_transition_time: since.unwrap_or_else(|| whole_seconds(now)),
    };
    match known {
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
}

/// The longest message that our definitions take. A status that says most of it beats one that is refused.
const LONGEST_MESSAGE: usize = 32_768;

fn clipped(mut message: String) -> String {
    if let Some((end, _)) = message.char_indices().nth(LONGEST_MESSAGE) {
        message.truncate(end);
    }
    message
}

/// Whether our definitions take this as a reason. Those of Pods are anybody's to write, and one that is refused would keep
/// the whole status from being written.
pub fn is_reason(text: &str) -> bool {
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let is_inner = |character: char| is_word(character) || character == ',' || character == ':';
    text.len() <= 1024
        && text.starts_with(|character: char| character.is_ascii_alphabetic())
        && text.ends_with(is_word)
        && text.chars().all(is_inner)
}

pub fn remove(conditions: &mut Vec<Condition>, type_: &str) {
    conditions.retain(|condition| condition.type_ != type_);
}

/// The time as the API server keeps it: without fractions of a second. Anything finer would look like a change the next
/// time the object is read.
pub fn whole_seconds(now: Timestamp) -> Time {
    Time(
        Timestamp::from_second(now.as_second())
            .expect("no further from the epoch than the time it came from"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a small number of seconds")
    }

    #[test]
    fn the_time_moves_only_when_the_status_flips() {
        let mut conditions = Vec::new();
        set(&mut conditions, "Ready", Verdict::new(false, "Waiting", "one"), 1, at(10));
        set(&mut conditions, "Ready", Verdict::new(false, "Waiting", "two"), 2, at(20));
        assert_eq!(conditions[0].last_transition_time.0, at(10));
        assert_eq!((conditions[0].message.as_str(), conditions[0].observed_generation), ("two", Some(2)));

        set(&mut conditions, "Ready", Verdict::new(true, "Done", ""), 2, at(30));
        assert_eq!(conditions[0].last_transition_time.0, at(30));
    }

    #[test]
    fn a_message_is_no_longer_than_the_api_server_takes() {
        let mut conditions = Vec::new();
        set(&mut conditions, "Ready", Verdict::new(false, "Failed", "ä".repeat(40_000)), 1, at(10));
        assert_eq!(conditions[0].message.chars().count(), LONGEST_MESSAGE);
    }

    #[test]
    fn reasons_are_words() {
        for reason in ["A", "Unschedulable", "a_1", "A:b,c"] {
            assert!(is_reason(reason), "{reason}");
        }
        for text in ["", "two words", "1st", "A:", "Grün", "a-b", &"x".repeat(1025)] {
            assert!(!is_reason(text), "{text}");
        }
    }

    #[test]
    fn a_condition_keeps_its_place() {
        let mut conditions = Vec::new();
        for type_ in ["A", "B", "A"] {
            set(&mut conditions, type_, Verdict::new(true, "Reason", ""), 1, at(1));
        }
        assert_eq!(
            conditions.iter().map(|condition| condition.type_.as_str()).collect::<Vec<_>>(),
            ["A", "B"]
        );
    }
}
