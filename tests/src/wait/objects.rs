//! Waiting on many objects at once, through one watch.

use std::collections::HashMap;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, ResourceExt};
use tokio::time::timeout;

use super::{DEADLINE, Object, TimedOut, timed_out};

/// Watches the objects a label selector selects (all, if it is empty) until together they are as wanted, for at
/// most [`DEADLINE`].
pub async fn for_objects<K: Object + 'static>(
    api: &Api<K>,
    labels: &str,
    what: &str,
    wanted: impl Fn(&[&K]) -> bool,
) -> Result<Vec<K>, TimedOut> {
    for_objects_within(DEADLINE, api, labels, what, wanted).await
}

/// As [`for_objects`], with a deadline of the caller's.
pub async fn for_objects_within<K: Object + 'static>(
    deadline: Duration,
    api: &Api<K>,
    labels: &str,
    what: &str,
    wanted: impl Fn(&[&K]) -> bool,
) -> Result<Vec<K>, TimedOut> {
    let mut seen = Seen::default();
    let look = async {
        let mut events = pin!(watcher(api.clone(), Config::default().labels(labels)).default_backoff());
        loop {
            // A watch that breaks off starts anew by itself.
            let event = events.next().await.expect("a watch never ends by itself");
            if event.is_ok_and(|event| seen.note(event)) && wanted(&seen.all()) {
                return;
            }
        }
    };
    let found = timeout(deadline, look).await;
    match found {
        Ok(()) => Ok(seen.objects.into_values().collect()),
        Err(_) => Err(timed_out(&format!("{}: {what}", K::plural(&())), deadline, seen.describe())),
    }
}

/// The objects as of the last event.
struct Seen<K> {
    objects: HashMap<String, K>,
    listed: bool,
}

impl<K> Default for Seen<K> {
    fn default() -> Self {
        Self { objects: HashMap::new(), listed: false }
    }
}

impl<K: Object> Seen<K> {
    /// Takes an event in, and says whether all objects there are have been seen.
    fn note(&mut self, event: Event<K>) -> bool {
        match event {
            Event::Init => {
                self.objects.clear();
                self.listed = false;
            }
            Event::InitApply(object) | Event::Apply(object) => {
                self.objects.insert(object.uid().unwrap_or_default(), object);
            }
            Event::Delete(object) => {
                self.objects.remove(&object.uid().unwrap_or_default());
            }
            Event::InitDone => self.listed = true,
        }
        self.listed
    }

    fn all(&self) -> Vec<&K> {
        self.objects.values().collect()
    }

    fn describe(&self) -> String {
        let mut objects: Vec<_> = self.objects.values().map(one_line).collect();
        objects.sort();
        format!("{} objects\n{}", objects.len(), objects.join("\n"))
    }
}

fn one_line<K: Object>(object: &K) -> String {
    let whole = serde_json::to_value(object).unwrap_or_default();
    format!("{} {}", object.name_any(), whole["status"])
}
