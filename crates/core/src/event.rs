//! What is told about an object as a Kubernetes Event: seen by `kubectl describe`, kept for an hour, read by people.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object::Metadata;
use crate::report::{Event, Severity};
use crate::write::Kind;

/// The API server takes no more of a note than this.
const LONGEST_NOTE: usize = 1024;

impl Event {
    pub fn normal(reason: &'static str, action: &'static str, note: impl Into<String>) -> Self {
        Self { severity: Severity::Normal, reason, action, note: note.into() }
    }

    pub fn warning(reason: &'static str, action: &'static str, note: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, reason, action, note: note.into() }
    }

    /// The object to create. `number` makes its name one that no other event about the object has.
    pub fn about(
        &self,
        kind: Kind,
        metadata: &Metadata,
        reporter: &Reporter<'_>,
        number: u64,
        now: Timestamp,
    ) -> Value {
        let namespace = &*metadata.key.namespace;
        json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name(metadata.name(), number), "namespace": namespace},
            "eventTime": format!("{now:.6}"),
            "type": match self.severity { Severity::Normal => "Normal", Severity::Warning => "Warning" },
            "reason": self.reason,
            "action": self.action,
            "note": shortened(&self.note),
            "reportingController": reporter.controller,
            "reportingInstance": reporter.instance,
            "regarding": {
                "apiVersion": kind.api_version(), "kind": kind.name(), "name": metadata.name(), "namespace": namespace,
                "uid": metadata.uid.as_str(), "resourceVersion": metadata.version.to_string(),
            },
        })
    }
}

/// Who tells.
#[derive(Clone, Copy, Debug)]
pub struct Reporter<'a> {
    pub controller: &'a str,
    pub instance: &'a str,
}

/// Names end at 253 characters.
fn name(object: &str, number: u64) -> String {
    let object: String = object.chars().take(253 - 17).collect();
    format!("{object}.{number:016x}")
}

fn shortened(note: &str) -> &str {
    let end =
        (0..=LONGEST_NOTE.min(note.len())).rev().find(|end| note.is_char_boundary(*end)).unwrap_or_default();
    &note[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_names_the_very_object_it_is_about() {
        let object =
            json!({"metadata": {"name": "demo", "namespace": "team", "uid": "u1", "resourceVersion": "7"}});
        let metadata = Metadata::read(&object).unwrap();
        let reporter = Reporter { controller: "sandboxclaim-controller", instance: "asb-1" };
        let event = Event::normal("SandboxAdopted", "Adoption", "Adopted warm pool Sandbox \"pool-x\"");
        let now = Timestamp::from_second(1).unwrap();
        insta::assert_json_snapshot!(event.about(Kind::SandboxClaim, &metadata, &reporter, 255, now));
    }

    #[test]
    fn long_notes_are_cut_between_characters() {
        let note = format!("{}€", "x".repeat(1022));
        assert_eq!(shortened(&note).len(), 1022);
        assert_eq!(shortened("short"), "short");
    }
}
