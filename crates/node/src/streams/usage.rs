//! What Pods use right now: memory as it is, and processors as a rate between two looks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use tokio::time::Instant;

use super::Streams;
use super::error::Error;
use crate::shim::cgroups::Usage;
use crate::shim::client::{self, Client};
use crate::shim::protocol::{Answer, Attempt, Request};

/// What one Pod uses.
#[derive(Clone, Debug)]
pub struct PodUsage {
    pub pod: Arc<Pod>,
    /// Of the time over which the use of processors was measured.
    pub window: Duration,
    /// Those that run, by name.
    pub containers: Vec<ContainerUsage>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerUsage {
    pub name: String,
    /// Billionths of a processor.
    pub cpu_nano: u64,
    /// The working set.
    pub memory_bytes: u64,
}

/// The shortest time that says something about processors.
pub(super) const SHORTEST: Duration = Duration::from_millis(250);

/// What is older says nothing about now.
pub(super) const LONGEST: Duration = Duration::from_mins(1);

/// Who is measured: an attempt of a Pod, by its UID.
type Key = (String, Attempt);

/// The last look at each container.
#[derive(Debug, Default)]
pub(super) struct Meters(Mutex<HashMap<Key, Look>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) at: Instant,
    pub(super) cpu_nanoseconds: u64,
}

impl Streams {
    /// What the Pods use that are wanted and run here. Takes a moment where nobody has asked lately.
    pub async fn usage(&self, wanted: impl Fn(&Pod) -> bool) -> Vec<PodUsage> {
        let pods: Vec<_> = self.pods.all().into_iter().filter(|pod| wanted(pod)).collect();
        let mut seen = self.look(&pods).await;
        let due = self.meters.due(&seen, Instant::now());
        if due > Duration::ZERO {
            tokio::time::sleep(due).await;
            seen = self.look(&pods).await;
        }
        self.meters.read(seen, Instant::now())
    }

    async fn look(&self, pods: &[Arc<Pod>]) -> Vec<Seen> {
        let looks = pods.iter().map(|pod| async move {
            // One whose shim does not answer does not run.
            let containers = self.ask_usage(pod).await.ok()?;
            Some(Seen { pod: Arc::clone(pod), containers, at: Instant::now() })
        });
        futures::future::join_all(looks).await.into_iter().flatten().collect()
    }

    async fn ask_usage(&self, pod: &Pod) -> Result<Vec<(Attempt, Usage)>, Error> {
        let mut client = Client::connect(&self.directory(pod)).await?;
        match client.ask(Request::Usage).await? {
            Answer::Usage { containers, .. } => Ok(containers),
            _ => Err(client::Error::Answer.into()),
        }
    }
}

/// One look at one Pod.
struct Seen {
    pod: Arc<Pod>,
    containers: Vec<(Attempt, Usage)>,
    at: Instant,
}

impl Seen {
    fn key(&self, attempt: &Attempt) -> Key {
        (self.pod.metadata.uid.clone().unwrap_or_default(), attempt.clone())
    }
}

impl Meters {
    /// How long to wait until all of these can be told. Whoever is new is remembered as of now.
    fn due(&self, seen: &[Seen], now: Instant) -> Duration {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        looks.retain(|_, look| now.duration_since(look.at) < LONGEST);
        let mut due = Duration::ZERO;
        for seen in seen {
            for (attempt, usage) in &seen.containers {
                let new = Look { at: seen.at, cpu_nanoseconds: usage.cpu_nanoseconds };
                let look = looks.entry(seen.key(attempt)).or_insert(new);
                due = due.max(SHORTEST.saturating_sub(now.duration_since(look.at)));
            }
        }
        due
    }

    fn read(&self, seen: Vec<Seen>, now: Instant) -> Vec<PodUsage> {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut told = Vec::new();
        for seen in seen {
            let mut window = Duration::ZERO;
            let mut containers = Vec::new();
            for (attempt, usage) in &seen.containers {
                let new = Look { at: seen.at, cpu_nanoseconds: usage.cpu_nanoseconds };
                let old = looks.insert(seen.key(attempt), new);
                // What has come since the last look will be told at the next one.
                let Some((cpu_nano, over)) = old.and_then(|old| rate(old, new)) else { continue };
                window = window.max(over);
                let memory_bytes = usage.working_set_bytes;
                containers.push(ContainerUsage { name: attempt.container.clone(), cpu_nano, memory_bytes });
            }
            containers.sort_by(|first, second| first.name.cmp(&second.name));
            if !containers.is_empty() {
                told.push(PodUsage { pod: seen.pod, window, containers });
            }
        }
        looks.retain(|_, look| now.duration_since(look.at) < LONGEST);
        told
    }
}

/// Billionths of a processor, and over which time. None where no time has passed.
pub(super) fn rate(old: Look, new: Look) -> Option<(u64, Duration)> {
    let window = new.at.checked_duration_since(old.at).filter(|window| *window > Duration::ZERO)?;
    let used = u128::from(new.cpu_nanoseconds.saturating_sub(old.cpu_nanoseconds));
    let nano = used * 1_000_000_000 / window.as_nanos();
    Some((u64::try_from(nano).unwrap_or(u64::MAX), window))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(at: Instant, cpu_nanoseconds: u64) -> Vec<Seen> {
        let attempt = Attempt { container: "main".to_owned(), number: 0 };
        let usage = Usage { cpu_nanoseconds, working_set_bytes: 1 << 20, ..Usage::default() };
        vec![Seen { pod: Arc::default(), containers: vec![(attempt, usage)], at }]
    }

    #[test]
    fn processors_are_a_rate_between_two_looks() {
        let (meters, start) = (Meters::default(), Instant::now());
        assert_eq!(meters.due(&seen(start, 5), start), SHORTEST);
        let later = start + Duration::from_secs(1);
        assert_eq!(meters.due(&seen(later, 500_000_005), later), Duration::ZERO);
        let told = meters.read(seen(later, 500_000_005), later);
        let expected =
            ContainerUsage { name: "main".to_owned(), cpu_nano: 500_000_000, memory_bytes: 1 << 20 };
        assert_eq!(told[0].containers, [expected]);
        assert_eq!(told[0].window, Duration::from_secs(1));
    }

    #[test]
    fn a_look_from_long_ago_is_made_anew() {
        let (meters, start) = (Meters::default(), Instant::now());
        meters.due(&seen(start, 0), start);
        let much_later = start + LONGEST;
        assert_eq!(meters.due(&seen(much_later, 9), much_later), SHORTEST);
    }
}
