//! Whether a definition is in order, in the words and the order of Kubernetes. Expects one that has been defaulted and
//! whose status has been prepared.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::reading::{flag, list, schema, text};
use super::{approval, conversion, names, schemas, version};
use crate::field::{Error, Problem};
use crate::names::dns_1035_label;

/// What is wrong with a new definition. Its metadata beyond the name is for others to check.
pub fn validate_create(crd: &Value) -> Vec<Error> {
    let mut errors = Vec::new();
    if schemas::is_too_deep(crd) {
        return vec![schemas::too_deep()];
    }
    names::identity(crd, &mut errors);
    common(crd, None, &mut errors);
    errors
}

/// What is wrong with a change of a definition.
pub fn validate_update(crd: &Value, old: &Value) -> Vec<Error> {
    let mut errors = Vec::new();
    if schemas::is_too_deep(crd) {
        return vec![schemas::too_deep()];
    }
    common(crd, Some(old), &mut errors);
    errors
}

/// What Kubernetes only warns of: formats that it does not know.
pub fn warnings(crd: &Value, old: Option<&Value>) -> Vec<String> {
    if has_same_spec(crd, old) {
        return Vec::new();
    }
    let known: HashSet<String> = old.map(unknown_formats).unwrap_or_default().into_iter().collect();
    let found = unknown_formats(crd).into_iter().filter(|format| !known.contains(format));
    found.map(|format| format!("unrecognized format \"{format}\"")).collect()
}

fn has_same_spec(crd: &Value, old: Option<&Value>) -> bool {
    old.is_some_and(|old| old["spec"] == crd["spec"])
}

fn common(crd: &Value, old: Option<&Value>, errors: &mut Vec<Error>) {
    let spec = &crd["spec"];
    // What is as it was has been found in order, and a schema takes long to look through.
    if !has_same_spec(crd, old) {
        self::spec(spec, errors);
    }
    if let Some(old) = old {
        immutable(spec, old, errors);
    }
    names::validate(&crd["status"]["acceptedNames"], "status.acceptedNames", errors);
    stored_versions(&crd["status"]["storedVersions"], list(spec, "versions"), errors);
    approval::validate(crd, old, errors);
    if flag(spec, "preserveUnknownFields")
        && !old.is_some_and(|old| flag(&old["spec"], "preserveUnknownFields"))
    {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        errors.push(Error::invalid("spec.preserveUnknownFields", true, detail));
    }
}

/// What versions have in common stands once at the top in the eyes of Kubernetes, and so do the errors about it.
struct Shared<'a> {
    versions: &'a [Value],
}

impl<'a> Shared<'a> {
    fn is_shared(&self, name: &str) -> bool {
        self.versions.windows(2).all(|pair| pair[0].get(name) == pair[1].get(name))
    }

    /// The first version, for what it shares with the others.
    fn holder(&self, name: &str) -> Option<&'a Value> {
        self.versions.first().filter(|_| self.is_shared(name))
    }

    fn schema(&self) -> Option<&'a Value> {
        schema(&self.holder("schema")?["schema"], "openAPIV3Schema")
    }
}

fn spec(spec: &Value, errors: &mut Vec<Error>) {
    names::group(text(spec, "group"), errors);
    match text(spec, "scope") {
        "" => errors.push(Error::required("spec.scope", "")),
        "Cluster" | "Namespaced" => {}
        other => errors.push(Error::not_supported("spec.scope", other, &["Cluster", "Namespaced"])),
    }
    let versions = list(spec, "versions");
    for (index, version) in versions.iter().enumerate() {
        if schema(&version["schema"], "openAPIV3Schema").is_none() {
            let field = format!("spec.versions[{index}].schema.openAPIV3Schema");
            errors.push(Error::required(field, ""));
        }
    }
    let shared = Shared { versions };
    for (index, version) in versions.iter().enumerate() {
        self::version(version, index, &shared, errors);
    }
    version_names(versions, &shared, errors);
    names::required(&spec["names"], errors);
    names::validate(&spec["names"], "spec.names", errors);
    shared_parts(&shared, errors);
    conversion::validate(&spec["conversion"], errors);
}

fn version(version: &Value, index: usize, shared: &Shared<'_>, errors: &mut Vec<Error>) {
    let path = format!("spec.versions[{index}]");
    let problems = dns_1035_label(text(version, "name"));
    if !problems.is_empty() {
        errors.push(Error::invalid(format!("{path}.name"), text(version, "name"), problems.join(",")));
    }
    version::deprecation(version, &path, errors);
    let own = schema(&version["schema"], "openAPIV3Schema");
    if let Some(own) = own.filter(|_| !shared.is_shared("schema")) {
        let holder = shared.holder("subresources").unwrap_or(version);
        schemas::validate(own, &format!("{path}.schema.openAPIV3Schema"), has_status(holder), errors);
    }
    if !shared.is_shared("subresources") {
        version::subresources(version, &path, errors);
    }
    if !shared.is_shared("additionalPrinterColumns") {
        version::columns(version, &path, errors);
    }
    if !shared.is_shared("selectableFields") {
        version::selectable_fields(version, own, &path, errors);
    }
}

fn shared_parts(shared: &Shared<'_>, errors: &mut Vec<Error>) {
    if let Some(schema) = shared.schema() {
        let has_status = shared.versions.iter().any(has_status);
        schemas::validate(schema, "spec.validation.openAPIV3Schema", has_status, errors);
    }
    if let Some(holder) = shared.holder("subresources") {
        version::subresources(holder, "spec", errors);
    }
    if let Some(holder) = shared.holder("additionalPrinterColumns") {
        version::columns(holder, "spec", errors);
    }
    if let Some(holder) = shared.holder("selectableFields") {
        version::selectable_fields(holder, schema(&holder["schema"], "openAPIV3Schema"), "spec", errors);
    }
}

fn has_status(version: &Value) -> bool {
    version["subresources"].get("status").is_some_and(Value::is_object)
}

fn version_names(versions: &[Value], shared: &Shared<'_>, errors: &mut Vec<Error>) {
    let mut seen = HashSet::new();
    let mut complain = |detail: &str| {
        let shown = shown_versions(versions, shared);
        errors.push(Error::new("spec.versions", Problem::InvalidUnshown, format!("{shown}: {detail}")));
    };
    if !versions.iter().all(|version| seen.insert(text(version, "name"))) {
        complain("must contain unique version names");
    }
    if versions.iter().filter(|version| flag(version, "storage")).count() != 1 {
        complain("must have exactly one version marked as storage version");
    }
    let first = versions.first().map(|version| text(version, "name")).unwrap_or_default();
    let problems = dns_1035_label(first);
    if !first.is_empty() && !problems.is_empty() {
        errors.push(Error::invalid("spec.version", first, problems.join(",")));
    }
}

/// The versions as Kubernetes' own code holds and shows them.
fn shown_versions(versions: &[Value], shared: &Shared<'_>) -> String {
    let part = |version: &Value, name: &str| {
        if shared.is_shared(name) { Value::Null } else { version.get(name).cloned().unwrap_or_default() }
    };
    let shown: Vec<String> = versions
        .iter()
        .map(|version| {
            format!(
                r#"{{"Name":{},"Served":{},"Storage":{},"Deprecated":{},"DeprecationWarning":{},"Schema":{},"Subresources":{},"AdditionalPrinterColumns":{},"SelectableFields":{}}}"#,
                json!(text(version, "name")),
                flag(version, "served"),
                flag(version, "storage"),
                flag(version, "deprecated"),
                version.get("deprecationWarning").unwrap_or(&Value::Null),
                part(version, "schema"),
                part(version, "subresources"),
                part(version, "additionalPrinterColumns"),
                part(version, "selectableFields"),
            )
        })
        .collect();
    format!("[{}]", shown.join(","))
}

/// The formats of a definition that mean nothing, each as often as it is written.
fn unknown_formats(crd: &Value) -> Vec<String> {
    let versions = list(&crd["spec"], "versions");
    let shared = Shared { versions };
    let mut found = Vec::new();
    let roots: Vec<&Value> = match shared.schema() {
        Some(schema) => vec![schema],
        None => versions.iter().filter_map(|version| schema(&version["schema"], "openAPIV3Schema")).collect(),
    };
    for root in roots {
        schemas::collect_formats(root, &mut found);
    }
    found
}

fn immutable(spec: &Value, old: &Value, errors: &mut Vec<Error>) {
    let is_established = list(&old["status"], "conditions")
        .iter()
        .any(|condition| text(condition, "type") == "Established" && text(condition, "status") == "True");
    let old = &old["spec"];
    let mut fix = |pointer: &str, field: &str| {
        let (new, old) = (spec.pointer(pointer), old.pointer(pointer));
        if new != old {
            let value = new.cloned().unwrap_or_else(|| "".into());
            errors.push(Error::invalid(field, value, "field is immutable"));
        }
    };
    if is_established {
        fix("/scope", "spec.scope");
        fix("/names/kind", "spec.names.kind");
    }
    fix("/group", "spec.group");
    fix("/names/plural", "spec.names.plural");
}

fn stored_versions(stored: &Value, versions: &[Value], errors: &mut Vec<Error>) {
    let field = "status.storedVersions";
    let names: Vec<&str> = stored.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if names.is_empty() {
        errors.push(Error::invalid(field, stored.clone(), "must have at least one stored version"));
        return;
    }
    for version in versions.iter().filter(|version| flag(version, "storage")) {
        let name = text(version, "name");
        if !names.contains(&name) {
            errors.push(Error::invalid(
                field,
                stored.clone(),
                format!("must have the storage version {name}"),
            ));
        }
    }
    for (index, name) in names.iter().enumerate() {
        if !versions.iter().any(|version| text(version, "name") == *name) {
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in \
                 spec.versions until a storage migration ensures no data remains persisted in {name} and removes \
                 {name} from status.storedVersions"
            );
            errors.push(Error::invalid(format!("{field}[{index}]"), *name, detail));
        }
    }
}
