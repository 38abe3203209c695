//! Pods of less priority that make room for one of more: as few and as unimportant as will do.

use std::cmp::Ordering;

use k8s_openapi::api::core::v1::{Pod, PodSpec};

use super::fit::{self, Obstacle};
use super::{Decision, Site, Victim, created, priority, unavailable};

/// What to do about an obstacle.
pub(super) fn resolve(pod: &Pod, spec: &PodSpec, site: &Site<'_>, obstacle: &Obstacle) -> Decision {
    let message = unavailable(obstacle);
    match attempt(pod, spec, site, obstacle) {
        Ok(victims) => Decision::Preempt { victims, message },
        Err(why) => Decision::Unschedulable(format!("{message} preemption: {why}")),
    }
}

fn attempt(pod: &Pod, spec: &PodSpec, site: &Site<'_>, obstacle: &Obstacle) -> Result<Vec<Victim>, String> {
    if spec.preemption_policy.as_deref() == Some("Never") {
        return Err("not eligible due to preemptionPolicy=Never.".to_owned());
    }
    if !obstacle.may_yield {
        return Err(none("Preemption is not helpful for scheduling"));
    }
    if awaits_room(pod, site) {
        return Err("not eligible due to a terminating pod on the nominated node.".to_owned());
    }
    victims(pod, spec, site).map(|victims| victims.into_iter().map(Victim::of).collect())
}

fn none(reason: &str) -> String {
    format!("0/1 nodes are available: 1 {reason}.")
}

/// Whether it has made Pods leave already that are still about to.
fn awaits_room(pod: &Pod, site: &Site<'_>) -> bool {
    let nominated = pod.status.as_ref().and_then(|status| status.nominated_node_name.as_deref());
    nominated.is_some_and(|node| Some(node) == site.node.metadata.name.as_deref())
        && site.pods.iter().any(|other| priority(other) < priority(pod) && is_leaving(other))
}

fn is_leaving(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// Without all lesser Pods it must fit; then each is spared that can be, the most important first.
fn victims<'a>(pod: &Pod, spec: &PodSpec, site: &Site<'a>) -> Result<Vec<&'a Pod>, String> {
    let (mut lesser, mut kept): (Vec<&Pod>, Vec<&Pod>) =
        site.pods.iter().copied().partition(|other| priority(other) < priority(pod));
    if lesser.is_empty() {
        return Err(none("No preemption victims found for incoming pod"));
    }
    if let Some(obstacle) = fit::obstacle(pod, spec, &Site { pods: &kept, ..*site }) {
        return Err(unavailable(&obstacle));
    }
    lesser.sort_by(|first, second| importance(first, second));
    let mut victims = Vec::new();
    for other in lesser {
        kept.push(other);
        if fit::obstacle(pod, spec, &Site { pods: &kept, ..*site }).is_some() {
            kept.pop();
            victims.push(other);
        }
    }
    Ok(victims.into_iter().filter(|victim| !is_leaving(victim)).collect())
}

/// More important first: more priority, then who has been there longer.
fn importance(first: &Pod, second: &Pod) -> Ordering {
    let since = |pod: &Pod| {
        let started = pod.status.as_ref().and_then(|status| status.start_time.as_ref());
        (started.map(|time| time.0).or_else(|| created(pod)), pod.metadata.name.clone())
    };
    priority(second).cmp(&priority(first)).then_with(|| since(first).cmp(&since(second)))
}
