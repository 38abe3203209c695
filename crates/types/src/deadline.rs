//! A point in time as its user wrote it.
//!
//! Kubernetes takes every time that Go can hold, and `9999-12-31T23:59:59Z` is how some say "never". A plain timestamp
//! ends a day earlier, and an object that cannot be read is worse than one that expires a day early in 9999.

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::civil::DateTime;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Deadline {
    /// Kept, so that reading and writing an object changes nothing.
    written: String,
    at: Timestamp,
}

impl Deadline {
    pub fn at(&self) -> Timestamp {
        self.at
    }
}

impl From<Timestamp> for Deadline {
    fn from(at: Timestamp) -> Self {
        Self { written: at.to_string(), at }
    }
}

impl TryFrom<String> for Deadline {
    type Error = jiff::Error;

    fn try_from(written: String) -> Result<Self, Self::Error> {
        let at = written
            .parse()
            .or_else(|error| if is_past_the_end(&written) { Ok(Timestamp::MAX) } else { Err(error) })?;
        Ok(Self { written, at })
    }
}

impl From<Deadline> for String {
    fn from(deadline: Deadline) -> Self {
        deadline.written
    }
}

/// The last day or two of the calendar, in any time zone.
fn is_past_the_end(written: &str) -> bool {
    let local = written.get(..19).and_then(|text| text.parse::<DateTime>().ok());
    let is_whole = written.ends_with('Z') || written.get(19..).is_some_and(|rest| rest.contains(['+', '-']));
    is_whole && local.is_some_and(|local| local >= jiff::civil::date(9999, 12, 30).at(0, 0, 0, 0))
}

impl JsonSchema for Deadline {
    fn schema_name() -> Cow<'static, str> {
        Time::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Time::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Deadline, serde_json::Error> {
        serde_json::from_value(json!(text))
    }

    #[test]
    fn a_time_is_kept_as_it_was_written() {
        for text in ["2030-01-02T03:04:05Z", "2030-01-02T03:04:05.000Z", "2030-01-02T05:04:05+02:00"] {
            let deadline = read(text).unwrap();
            assert_eq!(deadline.at().as_second(), 1_893_553_445);
            assert_eq!(serde_json::to_value(deadline).unwrap(), text);
        }
    }

    #[test]
    fn never_is_as_late_as_can_be() {
        for text in ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59-12:00"] {
            assert_eq!(read(text).unwrap().at(), Timestamp::MAX);
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "never", "2030-01-02", "9999-12-31T23:59:59", "2030-13-02T03:04:05Z"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
