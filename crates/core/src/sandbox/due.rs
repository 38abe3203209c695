//! Whether a status is worth a write now. Writes are what a cluster has least of, and a pool's members pass through
//! states that nobody waits for.

use asb_types::conditions::{FINISHED, READY, sandbox_ready};
use asb_types::v1beta1::SandboxStatus;
use jiff::{SignedDuration, Timestamp};

use super::plan::after;
use super::status::Status;
use crate::conditions;
use crate::views::SandboxView;
use crate::write::Kind;

/// How long a pooled Sandbox may start without a word.
const QUIET_START: SignedDuration = SignedDuration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// The status is as it should be, or what is new can wait for the next write.
    No,
    Now,
    /// Then, if nothing better comes before.
    At(Timestamp),
}

pub fn status_is_due(sandbox: &SandboxView, next: &Status, now: Timestamp) -> Due {
    let quiet_until = after(sandbox.metadata.created, QUIET_START);
    if !is_changed(sandbox, next) {
        Due::No
    } else if now < quiet_until && is_pooled(sandbox) && is_progress(sandbox, next) {
        Due::At(quiet_until)
    } else {
        Due::Now
    }
}

/// The node alone is no news while the Sandbox is not Ready.
fn is_changed(sandbox: &SandboxView, next: &Status) -> bool {
    let is_ready = conditions::is_true(&next.reported.conditions, READY);
    let node_name = if is_ready { &next.reported.node_name } else { &sandbox.status.node_name }.clone();
    let told = SandboxStatus { node_name, ..next.reported.clone() };
    told != sandbox.status
}

fn is_pooled(sandbox: &SandboxView) -> bool {
    sandbox.metadata.owner.as_ref().is_some_and(|owner| owner.is(Kind::SandboxWarmPool))
}

/// On its way to being Ready for the first time, with nothing wrong.
fn is_progress(sandbox: &SandboxView, next: &Status) -> bool {
    let conditions = &next.reported.conditions;
    let is_waiting = conditions::find(conditions, READY)
        .is_some_and(|ready| ready.reason == sandbox_ready::DEPENDENCIES_NOT_READY);
    !sandbox.is_ready() && is_waiting && conditions::find(conditions, FINISHED).is_none()
}
