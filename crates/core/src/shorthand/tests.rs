//! What short spellings mean, and what becomes of the objects that they stand for.

mod lives;
mod meaning;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::views::{
    ClaimView, PoolView, ShortClaim, ShortPool, ShortTemplate, ShorthandView, TemplateView, read,
};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// An object of a short spelling as an API server serves it, from its manifest.
fn stored(mut object: Value) -> Value {
    let served = json!({"namespace": "team", "uid": "short", "resourceVersion": "5", "generation": 3});
    for (field, value) in served.as_object().unwrap() {
        object["metadata"][field] = value.clone();
    }
    object
}

fn claim() -> Value {
    stored(json!({
        "metadata": {"name": "mine", "labels": {"task-id": "7"}, "annotations": {"note": "kept"}},
        "spec": {"sandboxTemplate": "python"},
    }))
}

fn pool(template: Value) -> Value {
    stored(json!({"metadata": {"name": "pool"}, "spec": {"size": 2, "template": template}}))
}

fn inline() -> Value {
    json!({"spec": {"containers": [{"name": "main", "image": "demo"}]}})
}

/// The object that a plan creates, as an API server stores it.
fn created(writes: &[Write], kind: Kind) -> Value {
    let object = writes.iter().find_map(|write| match write {
        Write::Create { target, object } if target.kind == kind => Some(object.clone()),
        _ => None,
    });
    let mut object = object.expect("it is created");
    let served = json!({"uid": "other", "resourceVersion": "9", "generation": 1});
    for (field, value) in served.as_object().unwrap() {
        object["metadata"][field] = value.clone();
    }
    object
}

/// Looks at a short spelling with what is there beside it.
fn look<R>(short: &Value, others: &[&Value], look: impl FnOnce(&Observed<'_>) -> R) -> R {
    let other = |kind: &str| others.iter().find(|it| it["kind"] == kind).copied();
    let template = other("SandboxTemplate").map(|it| read::<TemplateView>(it).unwrap().unwrap());
    let pool = other("SandboxWarmPool").map(|it| read::<PoolView>(it).unwrap().unwrap());
    let claim = other("SandboxClaim").map(|it| read::<ClaimView>(it).unwrap().unwrap());
    if short["spec"]["podTemplate"].is_object() {
        let view = read::<ShorthandView<ShortTemplate>>(short).unwrap().unwrap();
        let counterpart = template.as_ref().map(Counterpart::of);
        let (metadata, spec, status) = (&view.metadata, &view.spec, &view.status);
        let kind = Kind::ShorthandTemplate;
        look(&Observed { kind, metadata, spec, status, counterpart, template: None })
    } else if short["spec"]["size"].is_number() {
        let view = read::<ShorthandView<ShortPool>>(short).unwrap().unwrap();
        let counterpart = pool.as_ref().map(Counterpart::of);
        let (metadata, spec, status) = (&view.metadata, &view.spec, &view.status);
        let template = template.as_ref().map(Counterpart::of);
        look(&Observed { kind: Kind::ShorthandPool, metadata, spec, status, counterpart, template })
    } else {
        let view = read::<ShorthandView<ShortClaim>>(short).unwrap().unwrap();
        let counterpart = claim.as_ref().map(Counterpart::of);
        let (metadata, spec, status) = (&view.metadata, &view.spec, &view.status);
        let kind = Kind::ShorthandClaim;
        look(&Observed { kind, metadata, spec, status, counterpart, template: None })
    }
}

fn planned(short: &Value, others: &[&Value]) -> Plan {
    look(short, others, plan)
}

/// The status that is written, if one is.
fn told(short: &Value, others: &[&Value]) -> Option<Value> {
    look(short, others, |observed| match status(observed, &plan(observed), None, NOW)? {
        Write::Patch { body, .. } => Some(body["status"].clone()),
        other => panic!("{other:?}"),
    })
}
