//! Events are news, and news gets old.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::Running;
use crate::api::Api;
use crate::object::{Object, moment};
use crate::store::{Precondition, Scope};

/// As long as a kube-apiserver keeps them.
const KEPT: SignedDuration = SignedDuration::from_hours(1);

const SWEEP: Duration = Duration::from_mins(1);

pub(super) async fn run(api: Arc<Api>, _running: Running) {
    let mut sweep = tokio::time::interval(SWEEP);
    loop {
        sweep.tick().await;
        let now = api.now();
        for entry in api.store().list(&Scope::resource("events")).entries {
            if is_old(&entry.value(), now) {
                // Somebody who wrote it meanwhile made it news again, and what fails is old in a minute too.
                let _ = api.store().delete(entry.key.clone(), Precondition::Unchanged(entry.revision)).await;
            }
        }
    }
}

/// By when it was last written or seen, as far as the event says so. What it says of the future does not count.
fn is_old(event: &Value, now: Timestamp) -> bool {
    let times = [
        event.pointer("/series/lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event.meta("creationTimestamp"),
    ];
    let times = times.into_iter().flatten().filter_map(Value::as_str).filter_map(moment);
    let latest = times.filter(|time| *time <= now).max();
    latest.is_some_and(|latest| now.duration_since(latest) > KEPT)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_lives_an_hour_after_it_was_last_seen() {
        let event = json!({
            "metadata": {"creationTimestamp": "2026-01-01T10:00:00Z"},
            "lastTimestamp": "2026-01-01T11:30:00Z",
        });
        assert!(!is_old(&event, "2026-01-01T12:00:00Z".parse().unwrap()));
        assert!(is_old(&event, "2026-01-01T12:31:00Z".parse().unwrap()));
    }

    #[test]
    fn an_event_of_the_future_gets_old_all_the_same() {
        let event = json!({
            "metadata": {"creationTimestamp": "2026-01-01T10:00:00Z"},
            "eventTime": "9999-01-01T00:00:00.000000Z",
        });
        assert!(!is_old(&event, "2026-01-01T10:30:00Z".parse().unwrap()));
        assert!(is_old(&event, "2026-01-01T11:01:00Z".parse().unwrap()));
    }
}
