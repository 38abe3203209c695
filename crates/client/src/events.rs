//! What happened to sandboxes: the events about our kinds and about the Pods behind Sandboxes.

use std::collections::HashMap;

use asb_types::v1beta1::Sandbox;
use futures::stream::BoxStream;
use futures::{StreamExt, future};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::ResourceExt;
use kube::runtime::{WatchStreamExt, watcher};

use crate::client::Client;
use crate::error::Error;
use crate::sights::lasting;

/// The kinds whose events are always shown.
const OURS: [&str; 4] = ["Sandbox", "SandboxClaim", "SandboxTemplate", "SandboxWarmPool"];

/// Which events are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Of all namespaces where none is named.
    pub namespace: Option<String>,
    /// Only those about objects of these names.
    pub names: Vec<String>,
}

impl EventFilter {
    /// Whether an event is about what is meant, as far as it tells by itself. A Pod's has to be looked up.
    fn takes(&self, event: &Event) -> Verdict {
        let about = &event.involved_object;
        let (kind, name) = (about.kind.as_deref().unwrap_or_default(), about.name.as_deref());
        let is_named = self.names.is_empty() || self.names.iter().any(|it| Some(it.as_str()) == name);
        match kind {
            _ if !is_named => Verdict::No,
            "Pod" if self.names.is_empty() => Verdict::IfSandbox,
            "Pod" => Verdict::Yes,
            kind if OURS.contains(&kind) => Verdict::Yes,
            _ => Verdict::No,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Yes,
    No,
    /// If the Pod is a Sandbox's.
    IfSandbox,
}

/// When an event was last seen.
pub fn event_time(event: &Event) -> Timestamp {
    let series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref()).map(|it| it.0);
    let last = event.last_timestamp.as_ref().map(|it| it.0);
    let times = [series, last, event.event_time.as_ref().map(|it| it.0)];
    let created = event.metadata.creation_timestamp.as_ref().map(|it| it.0);
    times.into_iter().flatten().max().or(created).unwrap_or_default()
}

impl Client {
    /// The events that are still kept, the oldest first.
    pub async fn events(&self, filter: &EventFilter) -> Result<Vec<Event>, Error> {
        let mut sandboxes = HashMap::new();
        let mut chosen = Vec::new();
        for event in self.list::<Event>(filter.namespace.as_deref(), "list events").await? {
            if self.is_meant(filter, &event, &mut sandboxes).await {
                chosen.push(event);
            }
        }
        chosen.sort_by_key(event_time);
        Ok(chosen)
    }

    /// Events as they come, beginning with those that are still kept.
    ///
    /// ```no_run
    /// # async fn example(client: asb_client::Client) -> Result<(), asb_client::Error> {
    /// use futures::StreamExt;
    ///
    /// let mut events = client.watch_events(Default::default());
    /// while let Some(event) = events.next().await {
    ///     drop(event?.message);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn watch_events(&self, filter: EventFilter) -> BoxStream<'static, Result<Event, Error>> {
        let events = self.api_across::<Event>(filter.namespace.as_deref());
        let seen = watcher(events, watcher::Config::default()).default_backoff().applied_objects();
        let state = (self.clone(), filter, HashMap::new(), seen.filter_map(lasting("events")).boxed());
        let chosen = futures::stream::unfold(state, |(client, filter, mut sandboxes, mut seen)| async move {
            loop {
                let event = seen.next().await?;
                let is_meant = match &event {
                    Ok(event) => client.is_meant(&filter, event, &mut sandboxes).await,
                    Err(_) => true,
                };
                if is_meant {
                    return Some((event, (client, filter, sandboxes, seen)));
                }
            }
        });
        let mut over = false;
        chosen.take_while(move |event| future::ready(!std::mem::replace(&mut over, event.is_err()))).boxed()
    }

    async fn is_meant(
        &self,
        filter: &EventFilter,
        event: &Event,
        sandboxes: &mut HashMap<(String, String), bool>,
    ) -> bool {
        match filter.takes(event) {
            Verdict::Yes => true,
            Verdict::No => false,
            Verdict::IfSandbox => {
                let about = &event.involved_object;
                let key =
                    (about.namespace.clone().unwrap_or_default(), about.name.clone().unwrap_or_default());
                if let Some(known) = sandboxes.get(&key) {
                    return *known;
                }
                let is_ours = self.has_sandbox(&key.0, &key.1).await;
                sandboxes.insert(key, is_ours);
                is_ours
            }
        }
    }

    /// Whether a Pod is a Sandbox's: it says so itself, or, where it is gone, there is a Sandbox of its name.
    async fn has_sandbox(&self, namespace: &str, name: &str) -> bool {
        let pod = self.api::<Pod>(namespace).get_opt(name).await.ok().flatten();
        match pod {
            Some(pod) => pod.owner_references().iter().any(|owner| owner.kind == "Sandbox"),
            None => self.api::<Sandbox>(namespace).get_opt(name).await.ok().flatten().is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn about(kind: &str, name: &str) -> Event {
        let about = json!({"kind": kind, "name": name});
        serde_json::from_value(json!({"metadata": {}, "involvedObject": about})).unwrap()
    }

    #[test]
    fn events_of_our_kinds_are_taken_and_those_of_pods_if_they_are_a_sandboxes() {
        let all = EventFilter::default();
        let verdicts = ["SandboxClaim", "Pod", "Node"].map(|kind| all.takes(&about(kind, "box")));
        assert_eq!(verdicts, [Verdict::Yes, Verdict::IfSandbox, Verdict::No]);
    }

    #[test]
    fn with_names_only_what_bears_one_is_taken() {
        let filter = EventFilter { names: vec!["box".to_owned()], ..EventFilter::default() };
        let verdicts = [("Sandbox", "box"), ("Pod", "box"), ("Sandbox", "other"), ("Node", "box")];
        let verdicts = verdicts.map(|(kind, name)| filter.takes(&about(kind, name)));
        assert_eq!(verdicts, [Verdict::Yes, Verdict::Yes, Verdict::No, Verdict::No]);
    }

    #[test]
    fn an_event_is_as_old_as_it_was_last_seen() {
        let event: Event = serde_json::from_value(json!({
            "metadata": {"creationTimestamp": "2030-01-01T00:00:00Z"}, "involvedObject": {},
            "lastTimestamp": "2030-01-01T00:00:05Z", "eventTime": "2030-01-01T00:00:01.000000Z",
        }))
        .unwrap();
        assert_eq!(event_time(&event).to_string(), "2030-01-01T00:00:05Z");
        assert_eq!(event_time(&about("Pod", "box")), Timestamp::default());
    }
}
