//! The rules that an object of a resource obeys, whether its kind is Kubernetes' own or somebody's definition. This is
//! the one place that knows that there are two sorts; the rest of the server asks here.

mod managers;
mod scaling;
mod versions;

use std::borrow::Cow;
use std::collections::HashSet;

use jiff::Timestamp;
use serde_json::Value;

pub(crate) use managers::{applied, managed};
use versions::bare_version;
pub(crate) use versions::{is_as_stored, to_storage, to_version};

use crate::decode::{self, Decoded, Expected, FieldValidation, Limits, Media, Problem};
use crate::deletion::{self, Deletion, Grace};
use crate::identity::GroupKind;
use crate::object::Object;
use crate::options::{DeleteOptions, Propagation};
use crate::resource::{Origin, Resource};
use crate::status::Status;
use crate::strategy::{self, Cluster};
use crate::{defaults, definition, field, validation};

/// Reads an object that was sent to a resource, and says what the sender should be warned of.
pub(crate) fn decode(
    resource: &Resource,
    bytes: &[u8],
    media: Media,
    validation: FieldValidation,
) -> Result<(Value, Vec<String>), Status> {
    let api_version = resource.api_version();
    let expected = Expected { api_version: &api_version, kind: &resource.kind };
    let decoded = decode::decode(bytes, media, expected, Limits::default())?;
    judge(resource, decoded, validation, expected)
}

/// The same for an object that came about by a patch.
pub(crate) fn read(
    resource: &Resource,
    object: Value,
    validation: FieldValidation,
) -> Result<(Value, Vec<String>), Status> {
    let api_version = resource.api_version();
    let expected = Expected { api_version: &api_version, kind: &resource.kind };
    let decoded = decode::value(object, expected)?;
    judge(resource, decoded, validation, expected)
}

fn judge(
    resource: &Resource,
    mut decoded: Decoded,
    validation: FieldValidation,
    expected: Expected<'_>,
) -> Result<(Value, Vec<String>), Status> {
    if let Origin::Defined(defined) = &resource.origin {
        if let Some(error) = defined.version().schema.unreadable(&decoded.object) {
            return Err(Status::bad_request(error.to_string()));
        }
        let unknown = defined.version().schema.prune(&mut decoded.object);
        decoded.problems.extend(unknown.into_iter().map(Problem::Unknown));
    }
    let (mut object, warnings) = decoded.judged(validation, expected)?;
    check_kind(resource, &object)?;
    default(resource, &mut object)?;
    Ok((object, warnings))
}

/// Objects of defined kinds are told apart late, and worded differently.
fn check_kind(resource: &Resource, object: &Value) -> Result<(), Status> {
    let kind = object["kind"].as_str().unwrap_or_default();
    if resource.is_built_in() || kind == resource.kind {
        return Ok(());
    }
    let error = field::Error::invalid("kind", kind, format!("must be {}", resource.kind));
    Err(Status::invalid(&GroupKind::new(&resource.group, kind), object.name(), &[error]))
}

pub(crate) fn default(resource: &Resource, object: &mut Value) -> Result<(), Status> {
    match &resource.origin {
        Origin::BuiltIn(_) if is_definition(resource) => definition::default(object),
        Origin::BuiltIn(_) => defaults::apply(&resource.group_kind(), object),
        Origin::Defined(defined) => {
            let defaulted = defined.version().schema.default(object);
            defaulted.map_err(|why| Status::too_large(&why.to_string()))?;
        }
    }
    Ok(())
}

/// Definitions are a kind of Kubernetes' own with rules of their own.
pub(crate) fn is_definition(resource: &Resource) -> bool {
    resource.group == "apiextensions.k8s.io" && resource.kind == "CustomResourceDefinition"
}

/// What an object holds that no other of its resource may hold.
pub(crate) fn claims(resource: &Resource, object: &Value) -> Option<strategy::Claims> {
    let is_service = resource.is_built_in() && resource.group_kind() == GroupKind::new("", "Service");
    is_service.then(|| strategy::Claims::of(object)).filter(|claims| !claims.is_empty())
}

/// Prepares a new object for validation.
pub(crate) fn prepare_create(
    resource: &Resource,
    object: &mut Value,
    cluster: &dyn Cluster,
    now: Timestamp,
) -> Result<(), Status> {
    match &resource.origin {
        Origin::BuiltIn(_) if is_definition(resource) => {
            definition::prepare_for_create(object);
            object.set_meta("generation", 1);
        }
        Origin::BuiltIn(_) => {
            strategy::prepare_create(&resource.group_kind(), object, cluster, now)?;
            // Kinds that count no generations keep what they are sent.
            if strategy::has_generation(&resource.group_kind()) {
                object.set_meta("generation", 1);
            }
        }
        Origin::Defined(defined) => {
            if defined.version().has_status {
                remove(object, "status");
            }
            object.set_meta("generation", 1);
        }
    }
    Ok(())
}

pub(crate) fn validate_create(resource: &Resource, object: &Value) -> Vec<field::Error> {
    match &resource.origin {
        Origin::BuiltIn(_) if is_definition(resource) => definition::validate_create(object),
        Origin::BuiltIn(_) => validation::create(&resource.group_kind(), object),
        Origin::Defined(defined) => {
            let errors = validation::metadata::create(object, resource.is_namespaced, NAMES_OF_DEFINED);
            defined.version().validate_after(errors, object, None).errors
        }
    }
}

const NAMES_OF_DEFINED: validation::metadata::NameRule = validation::metadata::NameRule::Dns1123Subdomain;

/// Prepares the next state of an object for validation: what this way of writing does not write stays as it was.
pub(crate) fn prepare_update(
    resource: &Resource,
    subresource: Option<&str>,
    new: &mut Value,
    old: &Value,
    cluster: &dyn Cluster,
    now: Timestamp,
) -> Result<(), Status> {
    let follows = match &resource.origin {
        Origin::BuiltIn(_) if is_definition(resource) && subresource.is_none() => {
            definition::prepare_for_update(new, old);
            new.get("spec") != old.get("spec")
        }
        Origin::BuiltIn(_) if is_definition(resource) => {
            definition::prepare_status_for_update(new, old);
            false
        }
        Origin::BuiltIn(_) => {
            strategy::prepare_update(&resource.group_kind(), subresource, new, old, cluster, now)?;
            strategy::generation_follows(&resource.group_kind(), subresource, new, old)
        }
        Origin::Defined(defined) => {
            keep_parts(new, old, subresource, defined.version().has_status);
            is_changed(new, old, defined.version().has_status)
        }
    };
    if follows {
        new.set_meta("generation", old.generation() + 1);
    }
    Ok(())
}

/// The status is written through its own path and nothing else is.
fn keep_parts(new: &mut Value, old: &Value, subresource: Option<&str>, has_status: bool) {
    match subresource {
        Some("status") => {
            let status = new.get("status").cloned();
            let managed = new.meta("managedFields").cloned();
            *new = old.clone();
            remove(new, "status");
            if let Some((fields, status)) = new.as_object_mut().zip(status) {
                fields.insert("status".to_owned(), status);
            }
            new.set_meta("managedFields", managed.unwrap_or_default());
        }
        _ if has_status => {
            remove(new, "status");
            if let Some((fields, status)) = new.as_object_mut().zip(old.get("status")) {
                fields.insert("status".to_owned(), status.clone());
            }
        }
        _ => {}
    }
}

fn remove(object: &mut Value, field: &str) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove(field);
    }
}

/// Whether anything differs that is wanted, not observed.
fn is_changed(new: &Value, old: &Value, has_status: bool) -> bool {
    let is_other = |name: &str| match name {
        "metadata" | "apiVersion" | "kind" => true,
        "status" => has_status,
        _ => false,
    };
    let fields = |object: &Value| -> Vec<(String, Value)> {
        let fields = object.as_object().into_iter().flatten();
        fields
            .filter(|(name, _)| !is_other(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    fields(new) != fields(old)
}

pub(crate) fn validate_update(
    resource: &Resource,
    subresource: Option<&str>,
    new: &Value,
    old: &Value,
) -> Vec<field::Error> {
    match &resource.origin {
        Origin::BuiltIn(_) if is_definition(resource) => definition::validate_update(new, old),
        Origin::BuiltIn(_) => validation::update(&resource.group_kind(), subresource, new, old),
        Origin::Defined(defined) => {
            let mut errors = validation::metadata::common_update(new, old, resource.is_namespaced);
            errors.extend(validation::metadata::update(new, old));
            if subresource == Some("status") {
                errors.extend(defined.version().validate_status(new, old).errors);
                return errors;
            }
            defined.version().validate_after(errors, new, Some(old)).errors
        }
    }
}

/// What a writer should know about an object that is in order all the same.
pub(crate) fn warnings(
    resource: &Resource,
    subresource: Option<&str>,
    new: &Value,
    old: Option<&Value>,
) -> Vec<String> {
    match &resource.origin {
        Origin::BuiltIn(_) if is_definition(resource) => definition::warnings(new, old),
        Origin::BuiltIn(_) => validation::warnings(&resource.group_kind(), subresource, new, old),
        Origin::Defined(_) => finalizer_warnings(new, old),
    }
}

fn finalizer_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let is_new = |name: &&str| old.is_none_or(|old| !old.has_finalizer(name));
    let plain = new.finalizers().filter(|name| !name.contains('/')).filter(is_new);
    let warning = |name: &str| {
        format!(
            "metadata.finalizers: {}: prefer a domain-qualified finalizer name to avoid accidental conflicts with other \
             finalizer writers",
            field::Quoted(name)
        )
    };
    plain.map(warning).collect()
}

/// Kubernetes keeps Events of both groups as one kind, and says so.
pub(crate) fn kind_in_messages(resource: &Resource) -> GroupKind {
    let group = if resource.group == "events.k8s.io" { "" } else { &resource.group };
    GroupKind::new(group, &resource.kind)
}

/// Whether a write that names no version is made on whatever is there.
pub(crate) fn allows_unconditional_update(resource: &Resource) -> bool {
    resource.is_built_in() && strategy::allows_unconditional_update(&resource.group_kind())
}

/// Whether a PUT to a name that nobody has makes an object.
pub(crate) fn allows_create_on_update(resource: &Resource) -> bool {
    resource.is_built_in() && strategy::allows_create_on_update(&resource.group_kind())
}

/// How long an object has to end by itself. Only Pods have anything to end.
pub(crate) fn grace(resource: &Resource, object: &Value) -> Grace {
    if resource.group_kind() != GroupKind::new("", "Pod") {
        return Grace::Unknown;
    }
    let has_node = object["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    let has_ended = matches!(object["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    if !has_node || has_ended {
        return Grace::Needless;
    }
    Grace::Usually(object["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or_default())
}

/// How an object is to be deleted. Kubernetes does not collect what Events might own, and does not listen to who asks for it.
pub(crate) fn deletion_options<'a>(
    resource: &Resource,
    options: &'a DeleteOptions,
) -> Cow<'a, DeleteOptions> {
    if resource.stored_as() != "events" {
        return Cow::Borrowed(options);
    }
    let propagation = Some(Propagation::Background);
    Cow::Owned(DeleteOptions { propagation, orphan_dependents: None, ..options.clone() })
}

/// What a deletion comes to for kinds that hold others.
pub(crate) fn deletion(resource: &Resource, object: &Value, decision: Deletion, now: Timestamp) -> Deletion {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Namespace") => deletion::of_namespace(object, decision, now),
        _ if is_definition(resource) => deletion::of_definition(object, decision, now),
        _ => decision,
    }
}

/// Whether a deletion is answered with what was deleted instead of with the news that it is gone.
pub(crate) fn returns_deleted_object(resource: &Resource) -> bool {
    const KINDS: [&str; 6] =
        ["Namespace", "PersistentVolume", "PersistentVolumeClaim", "Pod", "Service", "ServiceAccount"];
    match resource.group.as_str() {
        "" => KINDS.contains(&resource.kind.as_str()),
        "storage.k8s.io" => true,
        _ => false,
    }
}

/// An object that only its finalizers kept goes with the last of them.
pub(crate) fn goes_with_its_finalizers(resource: &Resource, new: &Value, was_deleting: bool) -> bool {
    let grace = new.meta("deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or_default();
    let is_empty_namespace = resource.kind != "Namespace"
        || !resource.group.is_empty()
        || new["spec"]["finalizers"].as_array().is_none_or(Vec::is_empty);
    was_deleting && grace == 0 && new.finalizers().next().is_none() && is_empty_namespace
}

/// Owners that are named twice are named once, and the writer hears of it.
pub(crate) fn deduplicate_owners(object: &mut Value) -> Vec<String> {
    let mut seen = HashSet::new();
    let (kept, twice): (Vec<&Value>, Vec<&Value>) =
        object.owners().iter().partition(|owner| seen.insert(*owner));
    if twice.is_empty() {
        return Vec::new();
    }
    let uids: Vec<&str> = twice.iter().map(|owner| owner["uid"].as_str().unwrap_or_default()).collect();
    let (kept, uids): (Vec<Value>, String) = (kept.into_iter().cloned().collect(), uids.join(", "));
    object.set_meta("ownerReferences", kept);
    vec![format!(
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may \
         reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
    )]
}
