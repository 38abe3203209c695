//! The PersistentVolumeClaims of a Sandbox, one per volumeClaimTemplate. They are made, adopted and given back; what is
//! in them, and how large they are, is left alone.

use std::collections::{BTreeMap, BTreeSet};

use asb_types::labels::SANDBOX_NAME_HASH;
use asb_types::lifecycle::WhenDeleted;
use asb_types::names;
use serde_json::{Value, json};

use super::adoption;
use super::observed::Observed;
use super::plan::Step;
use super::refusal::{Refusal, Thing};
use crate::object::{Metadata, Ownership, text_map};
use crate::write::{Kind, Target, Write};

/// The first refusal ends the step, as the volumes after it may depend on an order that users rely on.
pub(super) fn plan(observed: &Observed) -> Step {
    let templates = observed.sandbox.volumes.value();
    let mut step = Step::default();
    let mut seen = BTreeSet::new();
    for template in templates.as_array().into_iter().flatten() {
        let name = names::volume_claim(template_name(template), observed.name());
        if !seen.insert(name.clone()) {
            continue;
        }
        match plan_one(observed, template, &name) {
            Ok(write) => step.writes.extend(write),
            Err(refusal) => return Step { refusal: Some(refusal), ..step },
        }
    }
    step
}

pub(super) fn template_name(template: &Value) -> &str {
    template["metadata"]["name"].as_str().unwrap_or_default()
}

fn plan_one(observed: &Observed, template: &Value, name: &str) -> Result<Option<Write>, Refusal> {
    let Some(volume) = observed.volumes.get(name) else { return Ok(Some(create(observed, template, name))) };
    let volume = &volume.metadata;
    match (volume.ownership(observed.uid()), observed.sandbox.volumes_when_deleted) {
        (Ownership::Anothers(owner), _) => {
            Err(Refusal::owned(Thing::Volume, volume, owner, &observed.sandbox))
        }
        (Ownership::Ours, WhenDeleted::Delete) => Ok(None),
        (Ownership::Ours, WhenDeleted::Retain) => Ok(Some(give_back(observed, volume))),
        (Ownership::Nobodys, _) if !adoption::is_allowed(observed, volume) => {
            Err(Refusal::unadoptable(Thing::Volume, volume))
        }
        (Ownership::Nobodys, WhenDeleted::Delete) => Ok(Some(adopt(observed, volume))),
        (Ownership::Nobodys, WhenDeleted::Retain) => Ok(track(observed, volume)),
    }
}

fn create(observed: &Observed, template: &Value, name: &str) -> Write {
    let key = observed.sandbox.metadata.key.sibling(name);
    let mut labels = text_map(&template["metadata"]["labels"]);
    labels.insert(SANDBOX_NAME_HASH.to_owned(), observed.name_hash());
    let mut metadata = json!({"name": name, "namespace": &*key.namespace, "labels": labels});
    let annotations: BTreeMap<_, _> = text_map(&template["metadata"]["annotations"]);
    if !annotations.is_empty() {
        metadata["annotations"] = json!(annotations);
    }
    if observed.sandbox.volumes_when_deleted == WhenDeleted::Delete {
        metadata["ownerReferences"] = json!([adoption::reference(observed)]);
    }
    let object = json!({
        "apiVersion": Kind::PersistentVolumeClaim.api_version(),
        "kind": Kind::PersistentVolumeClaim.name(),
        "metadata": metadata,
        "spec": &template["spec"],
    });
    Write::Create { target: Target::new(Kind::PersistentVolumeClaim, key), object }
}

fn adopt(observed: &Observed, volume: &Metadata) -> Write {
    patch(volume, json!({"ownerReferences": adoption::references(observed, volume)})).locked(volume.version)
}

/// A volume that is to outlive the Sandbox has no owner. The label says whose it is to be again.
fn give_back(observed: &Observed, volume: &Metadata) -> Write {
    let mut metadata = json!({"ownerReferences": volume.references_under(None)});
    if !adoption::is_tracked(observed, volume) {
        metadata["labels"] = json!({SANDBOX_NAME_HASH: observed.name_hash()});
    }
    patch(volume, metadata).locked(volume.version)
}

fn track(observed: &Observed, volume: &Metadata) -> Option<Write> {
    let labels = json!({SANDBOX_NAME_HASH: observed.name_hash()});
    (!adoption::is_tracked(observed, volume)).then(|| patch(volume, json!({"labels": labels})))
}

fn patch(volume: &Metadata, metadata: Value) -> Write {
    Write::patch(Kind::PersistentVolumeClaim, volume, json!({"metadata": metadata}))
}
