//! How objects of Kubernetes' kinds begin to go away. Finalizers and owners are the caller's.

use std::cmp::Ordering;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{fields, second};
use crate::identity::GroupKind;

/// What a request for deletion comes to, finalizers aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// The object goes now.
    Immediate,
    /// The object was marked or its time was shortened: it stays, changed, until somebody deletes it with no grace.
    Graceful,
    /// It is going away already, and not sooner for this.
    Pending,
}

/// Pods that run on a node have the time that they, or the request, ask for. Namespaces stay until their content is
/// gone. Everything else goes at once.
pub fn begin_deletion(kind: &GroupKind, object: &mut Value, grace: Option<i64>, now: Timestamp) -> Deletion {
    let is_marked = !object["metadata"]["deletionTimestamp"].is_null();
    let grace = grace.map(at_least_a_second);
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") if is_marked => hurry(object, grace, now),
        ("", "Pod") => begin(object, grace, now),
        ("", "Namespace") if is_marked => leave(object),
        ("", "Namespace") => terminate(object, now),
        _ => Deletion::Immediate,
    }
}

fn terminate(namespace: &mut Value, now: Timestamp) -> Deletion {
    fields::set(namespace, "/metadata/deletionTimestamp", second(now));
    fields::set(namespace, "/status/phase", "Terminating");
    Deletion::Graceful
}

/// Whoever empties the namespace takes its finalizers off.
fn leave(namespace: &Value) -> Deletion {
    if fields::list(namespace, "/spec/finalizers").is_empty() {
        Deletion::Immediate
    } else {
        Deletion::Pending
    }
}

fn begin(pod: &mut Value, grace: Option<i64>, now: Timestamp) -> Deletion {
    let grace = grace_of(pod, grace);
    if let Some(generation) = pod["metadata"]["generation"].as_i64().filter(|generation| *generation > 0) {
        fields::set(pod, "/metadata/generation", generation.saturating_add(1));
    }
    mark(pod, after(now, grace), grace)
}

fn mark(pod: &mut Value, end: Timestamp, grace: i64) -> Deletion {
    fields::set(pod, "/metadata/deletionTimestamp", second(end));
    fields::set(pod, "/metadata/deletionGracePeriodSeconds", grace);
    if grace == 0 { Deletion::Immediate } else { Deletion::Graceful }
}

/// A Pod without a node, and one that has ended, have nothing to finish.
fn grace_of(pod: &Value, asked: Option<i64>) -> i64 {
    let has_node = pod["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    let has_ended = matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    if !has_node || has_ended {
        return 0;
    }
    let own = pod["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or_default();
    at_least_a_second(asked.unwrap_or(own))
}

/// What is going away already can only be made to go sooner.
fn hurry(pod: &mut Value, grace: Option<i64>, now: Timestamp) -> Deletion {
    let metadata = &pod["metadata"];
    let current = at_least_a_second(metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or_default());
    let Some(grace) = grace.filter(|_| current != 0) else {
        return if current == 0 { Deletion::Immediate } else { Deletion::Pending };
    };
    if grace.cmp(&current) != Ordering::Less {
        return Deletion::Pending;
    }
    let marked = metadata["deletionTimestamp"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
    let end = marked.map_or(now, |end| after(end, grace - current));
    // What is left of the time may be over: then it is the shortest that still leaves the node its turn.
    let (end, grace) = if end < now { (now, grace.min(1)) } else { (end, grace) };
    mark(pod, end, grace)
}

fn at_least_a_second(grace: i64) -> i64 {
    if grace < 0 { 1 } else { grace }
}

fn after(time: Timestamp, seconds: i64) -> Timestamp {
    time.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}
