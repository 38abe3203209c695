//! The configuration that kubectl keeps in an annotation when it applies from its own side. A server-side apply by kubectl
//! may take over what stands there, and keeps the annotation up to date for those who go back.

use serde_json::{Map, Value};

use super::Context;
use super::check::{Duplicates, check};
use super::comparison::compare;
use super::field_set::FieldSet;
use super::managed::Manager;
use super::owned::fields;
use super::text;
use super::typing::Type;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
const KUBECTL: &str = "kubectl";
/// The most that all annotations of an object may take, in bytes.
const MOST_ANNOTATIONS: usize = 256 * 1024;

/// The fields that kubectl applied from its side and that still are as it applied them.
pub(super) fn allowed(live: &Value, writer: &Manager, context: &Context<'_>) -> Option<FieldSet> {
    if writer.name != KUBECTL {
        return None;
    }
    let last: Value = serde_json::from_str(annotation(live)?).ok()?;
    let is_object = last.get("kind").and_then(Value::as_str).is_some_and(|kind| !kind.is_empty());
    if !is_object || last.get("apiVersion")?.as_str()? != writer.api_version {
        return None;
    }
    let kind = Type::of(&context.versions.get(&writer.api_version)?.schema);
    check(kind, live, Duplicates::Refused).ok()?;
    check(kind, &last, Duplicates::Refused).ok()?;
    let changed = compare(kind, &last, live);
    Some(fields(kind, &last).difference(&changed.written()).difference(&changed.removed))
}

/// Writes the configuration into the annotation of an object that has one.
pub(super) fn refresh(applied: &mut Value, config: &Value, writer: &Manager) {
    if writer.name != KUBECTL || annotation(applied).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = annotations_mut(&mut config) {
        annotations.remove(ANNOTATION);
    }
    let Some(annotations) = annotations_mut(applied) else { return };
    annotations.insert(ANNOTATION.into(), format!("{}\n", text::json(&config)).into());
    let sizes = annotations.iter().map(|(name, value)| name.len() + value.as_str().map_or(0, str::len));
    if sizes.sum::<usize>() > MOST_ANNOTATIONS {
        annotations.remove(ANNOTATION);
    }
}

fn annotation(object: &Value) -> Option<&str> {
    let text = object.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str()?;
    (!text.is_empty()).then_some(text)
}

fn annotations_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()
}
