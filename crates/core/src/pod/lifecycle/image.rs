//! Whether the image of a container is here for its next attempt, or what is to be done about it.

use std::time::Duration;

use super::{Action, Plan, Sight, name};
use crate::pod::clock;
use crate::pod::member::Member;
use crate::pod::observed::{Image, PullFailure, PullReason};

/// How often an image that is not here and must not be pulled is looked for.
const GLANCE: Duration = Duration::from_secs(10);

/// Whether the image is ready; if not, what to do about it is planned.
pub(super) fn is_ready(member: Member<'_>, attempt: u32, sight: Sight<'_>, plan: &mut Plan) -> bool {
    let unknown = Image::Unknown;
    match sight.observed.container(member.name()).map_or(&unknown, |container| &container.image) {
        Image::Ready { attempt: checked, .. } if *checked == attempt || !is_always(member) => return true,
        Image::Preparing | Image::Pulling => {}
        Image::Failed(failure) => match clock::remaining(failure.at, wait(failure), sight.now) {
            Some(then) => plan.look(then),
            None => plan.push(Action::PrepareImage { container: name(member), attempt }),
        },
        Image::Unknown | Image::Ready { .. } => {
            plan.push(Action::PrepareImage { container: name(member), attempt });
        }
    }
    false
}

/// Whether the image is asked for before every attempt.
fn is_always(member: Member<'_>) -> bool {
    member.container.image_pull_policy.as_deref() == Some("Always")
}

/// How long after a failure the image is tried again.
fn wait(failure: &PullFailure) -> Duration {
    match failure.reason {
        PullReason::Pull => failure.backoff.delay,
        PullReason::Never | PullReason::Name => GLANCE,
    }
}
