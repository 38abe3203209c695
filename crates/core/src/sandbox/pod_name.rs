//! The annotations on a Sandbox that name its Pod and its trace. SDKs read the former, and it is there before the Sandbox is
//! Ready; the latter goes along, and is left alone where somebody has set it.

use asb_types::annotations::{POD_NAME, TRACE_CONTEXT};
use asb_types::names;
use asb_types::v1beta1::OperatingMode;
use serde_json::{Map, json};

use super::adoption;
use super::at_hand::{self, AtHand};
use super::observed::Observed;
use super::plan::Step;
use crate::write::{Kind, Write};

pub(super) fn plan(observed: &Observed) -> Step {
    let metadata = &observed.sandbox.metadata;
    let present = metadata.annotation(POD_NAME);
    let wanted = wanted(observed, present);
    let mut changes = Map::new();
    if present != wanted.as_deref() {
        changes.insert(POD_NAME.to_owned(), json!(wanted));
    }
    if let Some(trace) = observed.trace.as_deref().filter(|_| metadata.annotation(TRACE_CONTEXT).is_none()) {
        changes.insert(TRACE_CONTEXT.to_owned(), trace.into());
    }
    let is_due = !changes.is_empty();
    let body = json!({"metadata": {"annotations": changes}});
    is_due.then(|| Write::patch(Kind::Sandbox, metadata, body)).into()
}

fn wanted(observed: &Observed, present: Option<&str>) -> Option<String> {
    let kept = present.map(str::to_owned);
    match (observed.sandbox.operating_mode, AtHand::of(observed)) {
        (OperatingMode::Running, AtHand::Ours(pod)) => Some(pod.metadata.name().to_owned()),
        (OperatingMode::Running, AtHand::Nothing) => Some(names::pod(observed.name())),
        (OperatingMode::Running, AtHand::Nobodys(pod)) => {
            let is_taken = adoption::is_allowed(observed, &pod.metadata) && !pod.metadata.is_deleting();
            if is_taken { Some(pod.metadata.name().to_owned()) } else { kept }
        }
        (OperatingMode::Suspended, AtHand::Ours(pod)) => kept.filter(|name| name == pod.metadata.name()),
        (_, AtHand::Several(_)) => {
            kept.filter(|name| at_hand::owned(observed).any(|pod| pod.metadata.name() == name))
        }
        (OperatingMode::Running, AtHand::Anothers(..)) | (OperatingMode::Suspended, _) => None,
    }
}
