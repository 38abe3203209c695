//! Events, of the core group and of their own, where some fields have other names. Errors name fields as the server keeps
//! them, whichever group they came by.

use serde_json::Value;

use super::at::{At, Report};
use super::declared;
use super::metadata::{self, NameRule};
use crate::names;

const MOST_OF_NAME: usize = 128;
const MOST_OF_NOTE: usize = 1024;

/// What a field is called on the wire.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Core,
    Events,
}

impl Group {
    fn wire(self, name: &str) -> &str {
        match (self, name) {
            (Self::Core, "reportingController") => "reportingComponent",
            (Self::Events, "involvedObject") => "regarding",
            (Self::Events, "message") => "note",
            (Self::Events, "source") => "deprecatedSource",
            (Self::Events, "firstTimestamp") => "deprecatedFirstTimestamp",
            (Self::Events, "lastTimestamp") => "deprecatedLastTimestamp",
            (Self::Events, "count") => "deprecatedCount",
            _ => name,
        }
    }

    fn field<'v, 'c>(self, event: &'c At<'v, '_>, name: &'c str) -> At<'v, 'c> {
        event.field_shown_as(self.wire(name), name)
    }
}

pub(super) fn create(event: &At, group: Group) {
    basics(event, group);
    if group == Group::Core {
        return;
    }
    metadata::new_of_kubernetes(&event.field("metadata"), true, NameRule::Dns1123Subdomain);
    series(event);
    if !event.has("eventTime") {
        event.field("eventTime").required("");
    }
    if !["Normal", "Warning"].contains(&event.text_of("type")) {
        event.field("type").invalid("", format!("has invalid value: {}", event.text_of("type")));
    }
    for name in ["firstTimestamp", "lastTimestamp"] {
        let field = group.field(event, name);
        if field.exists() {
            field.invalid("", "needs to be unset");
        }
    }
    if group.field(event, "count").integer() != 0 {
        event.field("count").invalid("", "needs to be unset");
    }
    let source = group.field(event, "source");
    if !source.text_of("component").is_empty() || !source.text_of("host").is_empty() {
        source.invalid("", "needs to be unset");
    }
}

pub(super) fn update(new: &At, old: &Value, group: Group) {
    basics(new, group);
    if group == Group::Core {
        return;
    }
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
    if new.field("series").value != &old["series"] {
        series(new);
    }
    let silent = Report::default();
    let before = new.other(old, &silent);
    let of_type = |name: &str, kind: &str| {
        let (new, old) = (group.field(new, name), group.field(&before, name));
        let (new_shown, old_shown) = (declared::shown(kind, new.value), declared::shown(kind, old.value));
        if new_shown != old_shown {
            new.invalid_shown(new_shown, "field is immutable");
        }
    };
    of_type("involvedObject", "ObjectReference");
    of_type("reason", "text");
    of_type("message", "text");
    of_type("source", "EventSource");
    of_type("firstTimestamp", "*time");
    of_type("lastTimestamp", "*time");
    of_type("count", "number");
    of_type("reason", "text");
    of_type("type", "text");
    of_type("eventTime", "*time");
    of_type("action", "text");
    of_type("related", "*ObjectReference");
    of_type("reportingController", "text");
    of_type("reportingInstance", "text");
}

/// What is asked of all events.
fn basics(event: &At, group: Group) {
    let namespace = event.field("metadata").text_of("namespace");
    let involved = group.field(event, "involvedObject");
    let of_object = involved.field("namespace");
    let timed = event.has("eventTime");
    let elsewhere = match (of_object.text(), timed) {
        ("", false) => !["", "default"].contains(&namespace),
        (other, false) => other != namespace,
        ("", true) => !["default", "kube-system"].contains(&namespace),
        (_, true) => false,
    };
    if elsewhere {
        of_object.invalid(of_object.text(), "does not match event.namespace");
    }
    if timed {
        reporter(event, group);
    }
    event
        .field("namespace")
        .holding(event.field("metadata").field("namespace").value)
        .must(names::dns_subdomain);
}

fn reporter(event: &At, group: Group) {
    let wire = group.wire("reportingController");
    let controller = event.field(wire);
    controller.must_be_given();
    controller.must(names::qualified_name);
    for name in ["reportingInstance", "action", "reason"] {
        let field = event.field(name);
        field.must_be_given();
        at_most(&field, MOST_OF_NAME);
    }
    at_most(&group.field(event, "message"), MOST_OF_NOTE);
}

fn at_most(field: &At, most: usize) {
    if field.text().len() > most {
        field.invalid("", format!("can have at most {most} characters"));
    }
}

fn series(event: &At) {
    let Some(series) = event.field("series").given() else { return };
    if series.integer_of("count") < 2 {
        series.field("count").invalid("", "should be at least 2");
    }
    if !series.has("lastObservedTime") {
        series.field("lastObservedTime").required("");
    }
}
