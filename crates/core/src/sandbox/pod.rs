//! What becomes of a Sandbox's Pod: made, adopted, kept in step with the podTemplate's metadata, or taken away. Its spec
//! is never compared: most of a Pod's spec cannot be changed, and the rest is others' to change.

use asb_types::v1beta1::OperatingMode;
use jiff::Timestamp;
use serde_json::json;

use super::adoption;
use super::at_hand::AtHand;
use super::observed::Observed;
use super::plan::{PATIENCE, Step, after};
use super::pod_metadata::Desired;
use super::pod_object;
use super::refusal::{Refusal, Thing};
use super::termination;
use crate::views::PodView;
use crate::write::{Kind, Target, Write};

pub(super) fn plan(observed: &Observed, now: Timestamp) -> Step {
    match (observed.sandbox.operating_mode, AtHand::of(observed)) {
        (_, AtHand::Several(count)) => Step::refuse(Refusal::MultiplePods(count)),
        (OperatingMode::Suspended, _) => plan_suspension(observed, now),
        (OperatingMode::Running, AtHand::Nothing) => create(observed),
        (OperatingMode::Running, AtHand::Nobodys(pod)) => adopt(observed, pod, now),
        (OperatingMode::Running, AtHand::Ours(pod)) if pod.metadata.is_deleting() => {
            termination::see_off(pod, observed, now)
        }
        (OperatingMode::Running, AtHand::Ours(pod)) => update(observed, pod, now),
        (OperatingMode::Running, AtHand::Anothers(pod, owner)) => {
            Step::refuse(Refusal::owned(Thing::Pod, &pod.metadata, owner, &observed.sandbox))
        }
    }
}

/// The part of the plan that only takes away.
pub(super) fn plan_suspension(observed: &Observed, now: Timestamp) -> Step {
    match (observed.sandbox.operating_mode, AtHand::of(observed)) {
        (OperatingMode::Suspended, AtHand::Ours(pod)) => termination::remove(pod, observed, now),
        _ => Step::default(),
    }
}

fn create(observed: &Observed) -> Step {
    match pod_object::build(observed) {
        Ok(object) => {
            Step::write(Write::Create { target: Target::of(Kind::Pod, &observed.sandbox.metadata), object })
        }
        Err(refusal) => Step::refuse(refusal),
    }
}

/// Locked by version, because the list of owners is written whole. A Pod on its way out is not worth having, and its name
/// is free soon.
fn adopt(observed: &Observed, pod: &PodView, now: Timestamp) -> Step {
    if !adoption::is_allowed(observed, &pod.metadata) {
        return Step::refuse(Refusal::unadoptable(Thing::Pod, &pod.metadata));
    }
    if pod.metadata.is_deleting() {
        return Step::wait(after(now, PATIENCE));
    }
    let mut metadata = Desired::of(&observed.sandbox).patch(&pod.metadata).unwrap_or_else(|| json!({}));
    metadata["ownerReferences"] = adoption::references(observed, &pod.metadata);
    let patch = Write::patch(Kind::Pod, &pod.metadata, json!({"metadata": metadata}));
    Step::write(patch.locked(pod.metadata.version))
}

fn update(observed: &Observed, pod: &PodView, now: Timestamp) -> Step {
    let Some(metadata) = Desired::of(&observed.sandbox).patch(&pod.metadata) else { return Step::default() };
    // What was put off at a time that is yet to come was so before the clock was set back.
    let since = observed.memory.put_off_since.filter(|since| *since <= now).unwrap_or(now);
    let until = after(since, observed.settings.write_behind);
    if now < until {
        return Step::put_off(since, until);
    }
    Step::write(Write::patch(Kind::Pod, &pod.metadata, json!({"metadata": metadata})))
}
