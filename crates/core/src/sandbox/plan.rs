//! A plan as data: what to write for each part of a Sandbox, what is refused, and when to look again.

use asb_types::conditions::{READY, sandbox_ready};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::expiry::Expiry;
use super::observed::Observed;
use super::refusal::Refusal;
use super::trouble::{Part, Trouble};
use crate::conditions;
use crate::write::Write;

/// How long to wait for something that no watch would tell.
pub(super) const PATIENCE: SignedDuration = SignedDuration::from_mins(1);

/// What one Sandbox needs. The parts stand for themselves: one that fails does not stop the others, except that the
/// Pod's name is written only after its Pod, and the Sandbox is deleted only after everything else.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Plan {
    #[serde(skip_serializing_if = "Step::is_nothing")]
    pub volumes: Step,
    #[serde(skip_serializing_if = "Step::is_nothing")]
    pub pod: Step,
    /// The annotation on the Sandbox that tells SDKs which Pod it is.
    #[serde(skip_serializing_if = "Step::is_nothing")]
    pub pod_name: Step,
    #[serde(skip_serializing_if = "Step::is_nothing")]
    pub service: Step,
    /// The end of the Sandbox itself.
    #[serde(skip_serializing_if = "Step::is_nothing")]
    pub sandbox: Step,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// When to plan again if nothing changes before.
    #[serde(skip)]
    pub look_again: Option<Timestamp>,
}

/// What one part needs: writes in their order, and perhaps the reason why there are no more of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Step {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<Write>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// What the API server said to the same not long ago.
    #[serde(skip)]
    pub trouble: Option<Trouble>,
    /// When this part is to be looked at again.
    #[serde(skip)]
    pub look_again: Option<Timestamp>,
    /// Since when a write that can wait has been put off, for the [`Memory`](super::Memory).
    #[serde(skip)]
    pub put_off_since: Option<Timestamp>,
}

/// An event of type Warning about the Sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    pub reason: &'static str,
    pub action: &'static str,
    pub note: String,
}

impl Plan {
    /// The steps and what they are about, in the order in which they are carried out.
    pub fn steps(&self) -> [(Part, &Step); 5] {
        let Self { volumes, pod, pod_name, service, sandbox, .. } = self;
        [
            (Part::Volumes, volumes),
            (Part::Pod, pod),
            (Part::PodName, pod_name),
            (Part::Service, service),
            (Part::Sandbox, sandbox),
        ]
    }

    pub(super) fn step_mut(&mut self, part: Part) -> &mut Step {
        match part {
            Part::Volumes => &mut self.volumes,
            Part::Pod => &mut self.pod,
            Part::PodName => &mut self.pod_name,
            Part::Service => &mut self.service,
            Part::Sandbox => &mut self.sandbox,
        }
    }

    pub fn writes(&self) -> impl Iterator<Item = &Write> {
        self.steps().into_iter().flat_map(|(_, step)| &step.writes)
    }

    pub fn refusals(&self) -> impl Iterator<Item = &Refusal> {
        self.steps().into_iter().filter_map(|(_, step)| step.refusal.as_ref())
    }

    /// What is wrong before anything was tried. What goes wrong while trying is added by whoever tries.
    pub fn troubles(&self) -> Vec<Trouble> {
        let of_step = |(part, step): (Part, &Step)| {
            let refusal = step.refusal.as_ref().map(|refusal| Trouble::from_refusal(part, refusal));
            refusal.into_iter().chain(step.trouble.clone())
        };
        self.steps().into_iter().flat_map(of_step).collect()
    }

    pub(super) fn looking_again(mut self, observed: &Observed, now: Timestamp) -> Self {
        let steps = self.steps().map(|(_, step)| step.look_again);
        let end = Expiry::next(&observed.sandbox, now);
        self.look_again = steps.into_iter().flatten().chain(end).min();
        self
    }
}

impl Step {
    pub(super) fn write(write: Write) -> Self {
        Self { writes: vec![write], ..Self::default() }
    }

    pub(super) fn refuse(refusal: Refusal) -> Self {
        Self { refusal: Some(refusal), ..Self::default() }
    }

    pub(super) fn put_off(since: Timestamp, until: Timestamp) -> Self {
        Self { look_again: Some(until), put_off_since: Some(since), ..Self::default() }
    }

    pub(super) fn wait(until: Timestamp) -> Self {
        Self { look_again: Some(until), ..Self::default() }
    }

    fn is_nothing(&self) -> bool {
        self.writes.is_empty() && self.refusal.is_none()
    }
}

impl From<Option<Write>> for Step {
    fn from(write: Option<Write>) -> Self {
        Self { writes: write.into_iter().collect(), ..Self::default() }
    }
}

/// Told once: the status remembers that it was.
pub(super) fn warnings(observed: &Observed, pod: &Step) -> Vec<Warning> {
    let reason = sandbox_ready::MULTIPLE_PODS;
    let ready = conditions::find(&observed.sandbox.status.conditions, READY);
    match &pod.refusal {
        Some(refusal @ Refusal::MultiplePods(_)) if ready.is_none_or(|ready| ready.reason != reason) => {
            vec![Warning { reason, action: "Reconciling", note: refusal.to_string() }]
        }
        _ => Vec::new(),
    }
}

/// That much later, or at the end of time.
pub(super) fn after(start: Timestamp, duration: SignedDuration) -> Timestamp {
    start.checked_add(duration).unwrap_or(Timestamp::MAX)
}
