//! One stored kind of event, in the two shapes that the API has for it. Both hold the same.

use serde_json::Value;

use crate::defaults;
use crate::identity::GroupKind;

/// Fields of an event that have another name in the other shape: core, then events.k8s.io.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("source", "deprecatedSource"),
    ("message", "note"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Fields that events.k8s.io leaves out when they are empty, and core does not.
const OPTIONAL: [&str; 2] = ["reportingController", "reportingInstance"];

/// An event as `events.k8s.io/v1` has it.
pub fn to_v1(event: Value) -> Value {
    let mut event = renamed(event, "events.k8s.io/v1", |core, new| (core, new));
    if let Some(fields) = event.as_object_mut() {
        fields.retain(|field, value| *value != "" || !OPTIONAL.contains(&field.as_str()));
    }
    defaults::apply_again(&GroupKind::new("events.k8s.io", "Event"), &mut event);
    event
}

/// An event as `v1` has it.
pub fn to_core(event: Value) -> Value {
    let mut event = renamed(event, "v1", |core, new| (new, core));
    defaults::apply_again(&GroupKind::new("", "Event"), &mut event);
    event
}

type Name = &'static str;

fn renamed(mut event: Value, version: &str, direction: fn(Name, Name) -> (Name, Name)) -> Value {
    let Some(fields) = event.as_object_mut() else { return event };
    for (core, new) in NAMES {
        let (from, to) = direction(core, new);
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
    fields.insert("apiVersion".into(), version.into());
    event
}
