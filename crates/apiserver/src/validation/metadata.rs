//! The rules for `metadata`, which objects of all kinds obey. Whether the name and namespace fit the request's path is for
//! the handler to check, which refuses such requests as bad before anybody looks at the object.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::at::{At, Report, examine};
use super::{declared, labels};
use crate::apply::{LONGEST_MANAGER, is_printable};
use crate::deletion::{FOREGROUND, ORPHAN};
use crate::field::Error;
use crate::identity;
use crate::names;

/// The form that the names of a kind's objects have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    Dns1123Subdomain,
    Dns1123Label,
    Dns1035Label,
    /// Anything that can stand in a path, as for RBAC.
    PathSegment,
}

const MOST_OF_ANNOTATIONS: usize = 256 * 1024;
const MOST_OF_SUBRESOURCE: usize = 256;
/// Each error shows all owners, so they are not said more often than this.
const MOST_IN_CONTROL: usize = 8;

/// The metadata of a new object.
pub fn create(object: &Value, namespaced: bool, rule: NameRule) -> Vec<Error> {
    examine(object, |object| new(&object.field("metadata"), namespaced, rule))
}

/// The metadata of an object that replaces another one.
pub fn update(new: &Value, old: &Value) -> Vec<Error> {
    examine(new, |object| changed(&object.field("metadata"), &old["metadata"]))
}

/// What is asked of every update before anything else is, whatever the kind: all of the metadata, with any name that can
/// stand in a path, and how it may change.
pub fn common_update(new: &Value, old: &Value, namespaced: bool) -> Vec<Error> {
    let mut errors = create(new, namespaced, NameRule::PathSegment);
    errors.extend(update(new, old));
    errors
}

/// `metadata` of a new object of one of Kubernetes' own kinds.
pub(super) fn new_of_kubernetes(metadata: &At, namespaced: bool, rule: NameRule) {
    new(metadata, namespaced, rule);
    known_finalizers(metadata);
}

/// `metadata` of a changed object of one of Kubernetes' own kinds.
pub(super) fn changed_of_kubernetes(metadata: &At, old: &Value) {
    changed(metadata, old);
    known_finalizers(metadata);
}

pub(super) fn new(metadata: &At, namespaced: bool, rule: NameRule) {
    metadata.field("generateName").may(|text| rule.messages_of_prefix(text));
    let name = metadata.field("name");
    if name.text().is_empty() {
        name.required("name or generateName is required");
    } else {
        name.must(|text| rule.messages(text));
    }
    let namespace = metadata.field("namespace");
    if namespaced {
        namespace.must_be_given_and(names::dns_label);
    } else if !namespace.text().is_empty() {
        namespace.forbidden("not allowed on this type");
    }
    metadata.field("generation").must_not_be_negative();
    labels::labels(&metadata.field("labels"));
    annotations(&metadata.field("annotations"));
    owners(&metadata.field("ownerReferences"));
    finalizers(&metadata.field("finalizers"));
    managers(&metadata.field("managedFields"));
}

pub(super) fn changed(metadata: &At, old: &Value) {
    let silent = Report::default();
    let old = metadata.other(old, &silent);
    if old.has("deletionTimestamp") {
        no_new_finalizers(&metadata.field("finalizers"), &old.field("finalizers"));
    }
    let version = metadata.field("resourceVersion");
    if version.text().is_empty() {
        version.invalid("", "must be specified for an update");
    }
    let generation = metadata.field("generation");
    if generation.integer() < old.integer_of("generation") {
        generation.invalid(generation.integer(), "must not be decremented");
    }
    for name in ["name", "namespace", "uid"] {
        immutable_text(&metadata.field(name), &old.field(name));
    }
    for name in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        immutable(&metadata.field(name), &old.field(name));
    }
    labels::labels(&metadata.field("labels"));
    annotations(&metadata.field("annotations"));
    owners(&metadata.field("ownerReferences"));
    managers(&metadata.field("managedFields"));
}

/// A value that stays as it was.
pub(super) fn immutable(new: &At, old: &At) {
    if new.value != old.value {
        new.invalid(new.value.clone(), "field is immutable");
    }
}

pub(super) fn immutable_text(new: &At, old: &At) {
    if new.text() != old.text() {
        new.invalid(new.text(), "field is immutable");
    }
}

pub(super) fn annotations(annotations: &At) {
    for (key, _) in annotations.entries() {
        annotations.must_hold(key, names::caseless_qualified_name);
    }
    let size: usize = annotations.entries().map(|(key, value)| key.len() + value.text().len()).sum();
    if size > MOST_OF_ANNOTATIONS {
        annotations.too_long(MOST_OF_ANNOTATIONS);
    }
}

fn owners(owners: &At) {
    let (mut first, mut shown, mut more) = (None, None, 0);
    for owner in owners.items() {
        self::owner(owners, &owner);
        if !owner.flag_of("controller") {
            continue;
        }
        let name = format!("{}/{}", owner.text_of("kind"), owner.text_of("name"));
        let Some(first) = &first else {
            first = Some(name);
            continue;
        };
        more += 1;
        if more <= MOST_IN_CONTROL {
            let all = shown.get_or_insert_with(|| declared::shown("[]OwnerReference", owners.value));
            let only = "Only one reference can have Controller set to true.";
            let detail = format!("{only} Found \"true\" in references for {first} and {name}");
            owners.invalid_shown(all.clone(), detail);
        }
    }
}

/// Which of the owners it is, is not part of the path in what Kubernetes reports.
fn owner(owners: &At, owner: &At) {
    let (version, kind) = (owner.text_of("apiVersion"), owner.text_of("kind"));
    if identity::group_version(version).1.is_empty() || version.matches('/').count() > 1 {
        owners.field("apiVersion").invalid(version, "version must not be empty");
    }
    for name in ["kind", "name", "uid"] {
        if owner.text_of(name).is_empty() {
            owners.field(name).invalid("", "must not be empty");
        }
    }
    if (version, kind) == ("v1", "Event") {
        let shown = declared::shown("OwnerReference", owner.value);
        owners.invalid_shown(shown, "/v1, Kind=Event is disallowed from being an owner");
    }
}

fn finalizers(finalizers: &At) {
    for finalizer in finalizers.texts() {
        name_of_finalizer(finalizers, finalizer);
    }
    let has = |wanted| finalizers.texts().any(|finalizer| finalizer == wanted);
    if has(ORPHAN) && has(FOREGROUND) {
        let detail = format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set");
        finalizers.invalid(finalizers.value.clone(), detail);
    }
}

pub(super) fn name_of_finalizer(place: &At, finalizer: &str) {
    place.must_hold(finalizer, names::qualified_name);
}

fn known_finalizers(metadata: &At) {
    for finalizer in metadata.field("finalizers").items() {
        known_finalizer(&finalizer, finalizer.text());
    }
}

/// Finalizers without a domain are Kubernetes' own.
pub(super) fn known_finalizer(place: &At, finalizer: &str) {
    if !finalizer.contains('/') && !["kubernetes", ORPHAN, FOREGROUND].contains(&finalizer) {
        place.invalid(finalizer, "name is neither a standard finalizer name nor is it fully qualified");
    }
}

fn no_new_finalizers(new: &At, old: &At) {
    let before: BTreeSet<&str> = old.texts().collect();
    let added: BTreeSet<&str> = new.texts().filter(|finalizer| !before.contains(finalizer)).collect();
    if !added.is_empty() {
        let quoted: Vec<String> = added.iter().map(|name| crate::field::Quoted(name).to_string()).collect();
        new.forbidden(format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            quoted.join(", ")
        ));
    }
}

fn managers(managers: &At) {
    for manager in managers.items() {
        if !["Apply", "Update"].contains(&manager.text_of("operation")) {
            let operation = manager.field("operation");
            operation.invalid(operation.text(), "must be `Apply` or `Update`");
        }
        let fields = manager.field("fieldsType");
        if !["", "FieldsV1"].contains(&fields.text()) {
            fields.invalid(fields.text(), "must be `FieldsV1`");
        }
        field_manager(&manager.field("manager"));
        if manager.text_of("subresource").len() > MOST_OF_SUBRESOURCE {
            manager.field("subresource").too_long(MOST_OF_SUBRESOURCE);
        }
    }
}

/// The name under which somebody owns fields.
pub(super) fn field_manager(manager: &At) {
    let name = manager.text();
    if name.len() > LONGEST_MANAGER {
        manager.too_long(LONGEST_MANAGER);
    }
    for (position, unprintable) in name.char_indices().filter(|(_, it)| !is_printable(*it)) {
        let code = u32::from(unprintable);
        manager.invalid(name, format!("invalid character U+{code:04X} (at position {position})"));
    }
}

impl NameRule {
    fn messages(self, name: &str) -> Vec<String> {
        match self {
            Self::Dns1123Subdomain => names::dns_subdomain(name),
            Self::Dns1123Label => names::dns_label(name),
            Self::Dns1035Label => names::dns_1035_label(name),
            Self::PathSegment => names::path_segment(name),
        }
    }

    /// A prefix may end with a dash, since something comes after it. Kubernetes loses the character before the dash, too.
    fn messages_of_prefix(self, prefix: &str) -> Vec<String> {
        if self == Self::PathSegment {
            return names::path_segment_prefix(prefix);
        }
        match prefix.strip_suffix('-').filter(|kept| !kept.is_empty()) {
            None => self.messages(prefix),
            Some(kept) => {
                let mut kept = kept.to_owned();
                kept.pop();
                self.messages(&(kept + "a"))
            }
        }
    }
}

/// What is asked of the metadata of a template: nothing but labels and annotations may be set.
pub(super) fn template(metadata: &At) {
    annotations(&metadata.field("annotations"));
    labels::labels(&metadata.field("labels"));
    let others = [
        ("name", "name"),
        ("generateName", "generateName"),
        ("namespace", "namespace"),
        ("selfLink", "selfLink"),
        ("uid", "uID"),
        ("resourceVersion", "resourceVersion"),
        ("generation", "generation"),
        ("creationTimestamp", "creationTimestamp"),
        ("deletionTimestamp", "deletionTimestamp"),
        ("deletionGracePeriodSeconds", "deletionGracePeriodSeconds"),
        ("ownerReferences", "ownerReferences"),
        ("finalizers", "finalizers"),
        ("managedFields", "managedFields"),
    ];
    for (name, shown) in others {
        let place = metadata.field_shown_as(name, shown);
        if place.exists() && *place.value != json!("") && *place.value != json!(0) {
            place.forbidden("cannot be set");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_managers_say_how_and_by_whom() {
        let entries = json!({"managedFields": [{"operation": "Apply", "manager": "m"},
                                               {"operation": "Nope", "fieldsType": "x"}]});
        let errors = examine(&entries, |metadata| managers(&metadata.field("managedFields")));
        let expected = [
            "managedFields[1].operation: Invalid value: \"Nope\": must be `Apply` or `Update`",
            "managedFields[1].fieldsType: Invalid value: \"x\": must be `FieldsV1`",
        ];
        assert_eq!(errors.iter().map(Error::to_string).collect::<Vec<_>>(), expected);
    }
}
