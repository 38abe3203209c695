//! The cells of events. Those of `events.k8s.io` are the same objects with fields of other names.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::reading::{integer, name, text};

pub(super) fn cells(event: &Value, now: Timestamp) -> Value {
    let first_seen = match either(event, "/firstTimestamp", "/deprecatedFirstTimestamp") {
        "" => age::since(text(event, "/eventTime"), now),
        moment => age::since(moment, now),
    };
    json!([
        last_seen(event, &first_seen, now),
        text(event, "/type"),
        text(event, "/reason"),
        target(event),
        either(event, "/involvedObject/fieldPath", "/regarding/fieldPath"),
        source(event),
        either(event, "/message", "/note").trim(),
        first_seen,
        count(event),
        name(event),
    ])
}

fn last_seen(event: &Value, first_seen: &str, now: Timestamp) -> String {
    if event.get("series").is_some_and(Value::is_object) {
        return age::since(text(event, "/series/lastObservedTime"), now);
    }
    match either(event, "/lastTimestamp", "/deprecatedLastTimestamp") {
        "" => first_seen.to_owned(),
        moment => age::since(moment, now),
    }
}

/// An event that was seen once says nothing about how often.
fn count(event: &Value) -> i64 {
    if event.get("series").is_some_and(Value::is_object) {
        return integer(event, "/series/count");
    }
    match integer(event, "/count").max(integer(event, "/deprecatedCount")) {
        0 => 1,
        count => count,
    }
}

fn target(event: &Value) -> String {
    let kind = either(event, "/involvedObject/kind", "/regarding/kind").to_lowercase();
    match either(event, "/involvedObject/name", "/regarding/name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(event: &Value) -> String {
    let component = match either(event, "/source/component", "/deprecatedSource/component") {
        "" => either(event, "/reportingComponent", "/reportingController"),
        component => component,
    };
    let instance = match either(event, "/source/host", "/deprecatedSource/host") {
        "" => text(event, "/reportingInstance"),
        host => host,
    };
    if instance.is_empty() { component.to_owned() } else { format!("{component}, {instance}") }
}

/// A field by its name in the core group, or by its name in the group of events.
fn either<'a>(event: &'a Value, core: &str, events: &str) -> &'a str {
    match text(event, core) {
        "" => text(event, events),
        text => text,
    }
}
