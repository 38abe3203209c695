//! Takes out of a merged object what its manager applied before and applies no longer, as far as nobody else owns it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::Context;
use super::field_set::FieldSet;
use super::managed::{Managed, Owned};
use super::merge::without;
use super::owned::{fields, with_structures};
use super::typing::Type;

/// `managed` says already what the manager applies now, `last` what it applied before.
pub(super) fn prune(
    merged: Value,
    version: &str,
    managed: &Managed,
    last: Option<&Owned>,
    context: &Context<'_>,
) -> Value {
    let Some(last) = last.filter(|last| !last.set.is_empty()) else { return merged };
    let Some(pruned) = pruned(&merged, version, managed, last, context) else { return merged };
    match context.in_version(&pruned, &last.api_version, version) {
        Some(pruned) => pruned.into_owned(),
        None => merged,
    }
}

/// The pruned object in the version of the last apply. None where that version is not served any more.
fn pruned(
    merged: &Value,
    version: &str,
    managed: &Managed,
    last: &Owned,
    context: &Context<'_>,
) -> Option<Value> {
    let kind = Type::of(&context.versions.get(&last.api_version)?.schema);
    let merged = context.in_version(merged, version, &last.api_version)?;
    let given_up = with_structures(&last.set, Some(kind));
    let bare = without(kind, &merged, &given_up);
    let kept = with_what_others_own(&merged, bare, &last.api_version, managed, context)?;
    let all = with_structures(&fields(kind, &merged), Some(kind));
    let kept = with_structures(&fields(kind, &kept), Some(kind));
    Some(without(kind, &merged, &all.difference(&kept).intersection(&given_up)))
}

/// The bare object with what is owned put back, by all and in every version. The version of the objects comes first: a
/// bare object may lack what it takes to be converted.
fn with_what_others_own(
    merged: &Value,
    bare: Value,
    version: &str,
    managed: &Managed,
    context: &Context<'_>,
) -> Option<Value> {
    let mut owned: BTreeMap<&str, FieldSet> = BTreeMap::new();
    for owner in managed.owners.values() {
        owned.entry(&owner.api_version).or_default().extend(owner.set.clone());
    }
    let mut kept = bare;
    if let Some(set) = owned.remove(version) {
        kept = put_back(merged, &kept, version, &set, context)?;
    }
    for (other, set) in owned {
        let converted = |object| context.in_version(object, version, other);
        let (Some(whole), Some(part)) = (converted(merged), converted(&kept)) else { continue };
        let Some(more) = put_back(&whole, &part, other, &set, context) else { continue };
        if let Some(more) = context.in_version(&more, other, version).map(Cow::into_owned) {
            kept = more;
        }
    }
    Some(kept)
}

fn put_back(
    merged: &Value,
    kept: &Value,
    version: &str,
    owned: &FieldSet,
    context: &Context<'_>,
) -> Option<Value> {
    let kind = Type::of(&context.versions.get(version)?.schema);
    let structured = |set: &FieldSet| with_structures(set, Some(kind));
    let wanted = structured(&fields(kind, kept)).union(&structured(owned));
    Some(without(kind, merged, &structured(&fields(kind, merged)).difference(&wanted)))
}
