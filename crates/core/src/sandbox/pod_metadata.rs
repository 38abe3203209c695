//! The labels and annotations of a Sandbox's Pod: what users ask for in the podTemplate, and what the system needs.
//!
//! Which of them came from the podTemplate is noted on the Pod, so that a key that is no longer asked for can be taken
//! away without touching what others have put there.

use asb_types::annotations::{PROPAGATED_ANNOTATIONS, PROPAGATED_LABELS, is_system_annotation};
use asb_types::hash::fnv1a_hex;
use asb_types::labels::{
    CLAIM_UID, CREATED_BY, SANDBOX_NAME_HASH, TEMPLATE_REF_HASH, WARM_POOL, is_system_label,
    normalized_created_by,
};
use serde_json::Value;

use crate::object::Metadata;
use crate::propagated::{self, Notes, Texts, changed_notes, changes, listed, removals};
use crate::views::SandboxView;
use crate::write::Kind;

/// System labels that a Pod has or has not, depending on the Sandbox. They follow it in both directions.
const FOLLOWING: [&str; 4] = [WARM_POOL, TEMPLATE_REF_HASH, CREATED_BY, CLAIM_UID];

pub(super) struct Desired {
    labels: Texts,
    annotations: Texts,
    /// The keys above that came from the podTemplate.
    notes: Notes,
}

impl Desired {
    pub(super) fn of(sandbox: &SandboxView) -> Self {
        let of_users = |texts: &Texts, is_system: fn(&str) -> bool| -> Texts {
            texts
                .iter()
                .filter(|(key, _)| !is_system(key))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect()
        };
        let mut labels = of_users(&sandbox.pod.labels, is_system_label);
        let annotations = of_users(&sandbox.pod.annotations, is_system_annotation);
        let notes = propagated::notes(&labels, &annotations);
        labels.extend(system_labels(sandbox).map(|(key, value)| (key.to_owned(), value)));
        Self { labels, annotations, notes }
    }

    /// Labels and annotations, the notes among them where there is something to note.
    pub(super) fn for_a_new_pod(self) -> (Texts, Texts) {
        (self.labels, propagated::annotated(self.annotations, self.notes))
    }

    /// The merge patch of `metadata` that an existing Pod needs, if any.
    pub(super) fn patch(&self, pod: &Metadata) -> Option<Value> {
        let mut labels = changes(&self.labels, &pod.labels);
        let noted = listed(pod, PROPAGATED_LABELS).chain(FOLLOWING);
        labels.extend(removals(noted, &self.labels, &pod.labels));

        let mut annotations = changes(&self.annotations, &pod.annotations);
        let noted = listed(pod, PROPAGATED_ANNOTATIONS);
        annotations.extend(removals(noted, &self.annotations, &pod.annotations));
        annotations.extend(changed_notes(&self.notes, pod));
        propagated::patch(labels, annotations)
    }
}

/// The labels by which the Pod is found and selected. They come from the Sandbox itself and its owner, never from the
/// podTemplate, which is the user's to write.
fn system_labels(sandbox: &SandboxView) -> impl Iterator<Item = (&'static str, String)> {
    let metadata = &sandbox.metadata;
    let owner = metadata.owner.as_ref().filter(|owner| &*owner.group == asb_types::EXTENSIONS_GROUP);
    let pooled = owner.filter(|owner| owner.is(Kind::SandboxWarmPool));
    let claimed = owner.filter(|owner| owner.is(Kind::SandboxClaim));
    let copied = |key: &str| metadata.label(key).map(str::to_owned);
    let labels = [
        (SANDBOX_NAME_HASH, Some(fnv1a_hex(metadata.name()))),
        (TEMPLATE_REF_HASH, owner.and_then(|_| copied(TEMPLATE_REF_HASH))),
        (WARM_POOL, pooled.and_then(|_| copied(WARM_POOL))),
        (CLAIM_UID, claimed.map(|claim| claim.uid.to_string())),
        (CREATED_BY, metadata.label(CREATED_BY).map(|client| normalized_created_by(client).to_owned())),
    ];
    labels.into_iter().filter_map(|(key, value)| Some((key, value?)))
}
