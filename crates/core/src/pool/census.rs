//! Who is a member of a pool, and how it does.

use std::collections::{BTreeSet, HashMap};

use asb_types::conditions::READY;
use asb_types::labels;
use asb_types::v1beta1::UpdateStrategyType;
use jiff::Timestamp;
use serde_json::json;

use super::{Answer, Member, Observed, after};
use crate::blueprint::Blueprint;
use crate::conditions;
use crate::document::Document;
use crate::object::{Metadata, Ownership, Uid};
use crate::views::SandboxView;
use crate::write::{Kind, Write};

/// The Sandboxes that bear a pool's label, sorted out.
#[derive(Debug, Default)]
pub(super) struct Census<'a> {
    /// The pool's own and not on their way out, and those that it takes over.
    pub active: Vec<Counted<'a>>,
    pub terminating: usize,
    /// Of the terminating, those whose delete got no answer.
    pub unanswered: Vec<&'a SandboxView>,
    /// Nobody's, and not what the template says: neither taken over nor deleted.
    pub unlike: usize,
    /// Created, and not yet seen.
    pub awaited: usize,
    /// Perhaps created.
    pub lost: Vec<&'a str>,
    /// Every name that is taken.
    pub names: BTreeSet<&'a str>,
}

/// A member that counts.
#[derive(Debug)]
pub(super) struct Counted<'a> {
    pub sandbox: &'a SandboxView,
    /// Whether it is what the template says; told only where it matters.
    pub is_fresh: bool,
    pub is_orphan: bool,
    pub is_expected: bool,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Ready,
    /// It has until then.
    Waiting(Timestamp),
    /// It had its time.
    Stuck,
    /// It had its time, and another in its place would fare no better: no node takes it.
    Held,
}

impl<'a> Census<'a> {
    pub(super) fn take(observed: &Observed<'a>, blueprint: Option<&Blueprint<'_>>, now: Timestamp) -> Self {
        let mut census = Self::default();
        let mut comparison = Comparison { blueprint, known: HashMap::new() };
        for member in observed.members {
            census.count(member, observed, &mut comparison, now);
        }
        let unseen = observed.flights.creates.iter().filter(|(name, _)| !census.names.contains(&***name));
        let (lost, awaited): (Vec<_>, Vec<_>) = unseen.partition(|(_, answer)| **answer == Answer::Lost);
        census.awaited = awaited.len();
        census.lost = lost.into_iter().map(|(name, _)| &**name).collect();
        census.names.extend(observed.flights.creates.keys().map(|name| &**name));
        census
    }

    /// How many may be there though none of them was seen.
    pub(super) fn pending(&self) -> usize {
        self.awaited + self.lost.len()
    }

    fn count(
        &mut self,
        member: &Member<'a>,
        observed: &Observed<'a>,
        comparison: &mut Comparison<'_>,
        now: Timestamp,
    ) {
        let (sandbox, pool) = (member.sandbox, observed.pool);
        let metadata = &sandbox.metadata;
        self.names.insert(metadata.name());
        let ownership = metadata.ownership(&pool.metadata.uid);
        let is_orphan = ownership == Ownership::Nobodys;
        let delete = observed.flights.deletes.get(&metadata.uid);
        match ownership {
            Ownership::Anothers(_) => {}
            Ownership::Ours if metadata.is_deleting() => self.terminating += 1,
            Ownership::Ours if delete.is_some() => {
                self.terminating += 1;
                self.unanswered.extend((delete == Some(&Answer::Lost)).then_some(sandbox));
            }
            Ownership::Nobodys if metadata.is_deleting() => {}
            Ownership::Nobodys if !comparison.is_alike(sandbox) => self.unlike += 1,
            Ownership::Ours | Ownership::Nobodys => {
                let matters = pool.update_strategy == UpdateStrategyType::Recreate;
                self.active.push(Counted {
                    sandbox,
                    is_fresh: !matters || comparison.is_fresh(sandbox),
                    is_orphan,
                    is_expected: member.is_expected,
                    progress: progress(member, observed, now),
                });
            }
        }
    }
}

fn progress(member: &Member<'_>, observed: &Observed<'_>, now: Timestamp) -> Progress {
    if member.sandbox.is_ready() {
        return Progress::Ready;
    }
    let deadline = after(unready_since(member.sandbox), observed.settings.readiness_grace);
    if now <= deadline {
        return Progress::Waiting(deadline);
    }
    // A gate is somebody's promise to open it.
    let waits = member.pod.is_some_and(|pod| {
        let scheduled = pod.scheduled.as_ref();
        pod.is_unschedulable() || scheduled.is_some_and(|scheduled| scheduled.reason == "SchedulingGated")
    });
    if waits { Progress::Held } else { Progress::Stuck }
}

/// One that was ready once has its time anew.
fn unready_since(sandbox: &SandboxView) -> Timestamp {
    let ready = conditions::find(&sandbox.status.conditions, READY);
    ready.map_or(sandbox.metadata.created, |ready| ready.last_transition_time.0.max(sandbox.metadata.created))
}

impl Counted<'_> {
    pub(super) fn uid(&self) -> &Uid {
        &self.sandbox.metadata.uid
    }

    pub(super) fn is_ready(&self) -> bool {
        self.progress == Progress::Ready
    }

    pub(super) fn is_held(&self) -> bool {
        self.progress == Progress::Held
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.progress == Progress::Stuck
    }

    pub(super) fn deadline(&self) -> Option<Timestamp> {
        match self.progress {
            Progress::Waiting(deadline) => Some(deadline),
            Progress::Ready | Progress::Stuck | Progress::Held => None,
        }
    }

    /// What makes it a proper member: an owner, and the label that says how it came about.
    pub(super) fn mending(&self, pool: &Metadata) -> Option<Write> {
        let metadata = &self.sandbox.metadata;
        let mut body = json!({"metadata": {"labels": {labels::LAUNCH_TYPE: labels::LAUNCH_WARM}}});
        if self.is_orphan {
            let reference = pool.controller_reference(Kind::SandboxWarmPool);
            body["metadata"]["ownerReferences"] = metadata.references_under(Some(reference));
            return Some(Write::patch(Kind::Sandbox, metadata, body).locked(metadata.version));
        }
        let is_warm = metadata.label(labels::LAUNCH_TYPE) == Some(labels::LAUNCH_WARM);
        (!is_warm).then(|| Write::patch(Kind::Sandbox, metadata, body).locked(metadata.version))
    }
}

/// The template beside each Sandbox. Members that are alike are compared once.
struct Comparison<'a> {
    blueprint: Option<&'a Blueprint<'a>>,
    known: HashMap<(Document, Document, Option<bool>), bool>,
}

impl Comparison<'_> {
    /// Without a template nothing is stale.
    fn is_fresh(&mut self, sandbox: &SandboxView) -> bool {
        let Some(blueprint) = self.blueprint else { return true };
        blueprint.has_hash(sandbox) || (blueprint.is_template_of(sandbox) && self.is_same(sandbox))
    }

    /// Whether it can be taken over: anybody may write labels, so that they prove nothing.
    fn is_alike(&mut self, sandbox: &SandboxView) -> bool {
        self.blueprint.is_some_and(|blueprint| blueprint.is_template_of(sandbox)) && self.is_same(sandbox)
    }

    fn is_same(&mut self, sandbox: &SandboxView) -> bool {
        let Some(blueprint) = self.blueprint else { return false };
        let parts = (sandbox.pod.spec.clone(), sandbox.volumes.clone(), sandbox.service);
        *self.known.entry(parts).or_insert_with(|| blueprint.same(sandbox))
    }
}
