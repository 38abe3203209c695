//! Whether a definition is in order, in the words and the order of Kubernetes. Expects one that has been defaulted and
//! whose status has been prepared.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::keywords::{self, Place};
use super::reading::{fields, flag, is_set, list, schema, text};
use super::{approval, conversion, default_values, names, structural, version};
use crate::field::{Error, Problem};
use crate::schema::names::label_1035;
use crate::schema::{Schema, from_open_api, is_known_format};

/// Definitions nest their schemas; deeper than this is an attack on the stack of whoever reads them.
const MOST_NESTING: usize = 256;

/// What is wrong with a new definition. Its metadata beyond the name is for others to check.
pub fn validate_create(crd: &Value) -> Vec<Error> {
    let mut errors = Vec::new();
    if is_too_deep(crd) {
        return vec![too_deep()];
    }
    names::identity(crd, &mut errors);
    common(crd, None, &mut errors);
    errors
}

/// What is wrong with a change of a definition.
pub fn validate_update(crd: &Value, old: &Value) -> Vec<Error> {
    let mut errors = Vec::new();
    if is_too_deep(crd) {
        return vec![too_deep()];
    }
    common(crd, Some(old), &mut errors);
    errors
}

/// What Kubernetes only warns of: formats that it does not know.
pub fn warnings(crd: &Value, old: Option<&Value>) -> Vec<String> {
    let known: HashSet<String> = old.map(unknown_formats).unwrap_or_default().into_iter().collect();
    let found = unknown_formats(crd).into_iter().filter(|format| !known.contains(format));
    found.map(|format| format!("unrecognized format \"{format}\"")).collect()
}

fn common(crd: &Value, old: Option<&Value>, errors: &mut Vec<Error>) {
    let spec = &crd["spec"];
    self::spec(spec, errors);
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
    let problems = label_1035(text(version, "name"));
    if !problems.is_empty() {
        errors.push(Error::invalid(format!("{path}.name"), text(version, "name"), problems.join(",")));
    }
    version::deprecation(version, &path, errors);
    let own = schema(&version["schema"], "openAPIV3Schema");
    if let Some(own) = own.filter(|_| !shared.is_shared("schema")) {
        let holder = shared.holder("subresources").unwrap_or(version);
        schema_of(own, &format!("{path}.schema.openAPIV3Schema"), has_status(holder), errors);
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
        schema_of(schema, "spec.validation.openAPIV3Schema", has_status, errors);
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
    let problems = label_1035(first);
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

/// Keywords that may stand at the root beside a status: those that still hold when the status is taken out.
const BESIDE_STATUS: [&str; 22] = [
    "description",
    "type",
    "format",
    "title",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "required",
    "items",
    "properties",
    "externalDocs",
    "example",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

fn schema_of(root: &Value, path: &str, has_status: bool, errors: &mut Vec<Error>) {
    if has_status {
        beside_status(root, path, errors);
    }
    if flag(root, "nullable") {
        errors.push(Error::forbidden(format!("{path}.nullable"), "nullable cannot be true at the root"));
    }
    let unreadable = unreadable(root);
    let mut has_rules = false;
    if unreadable.is_none() {
        let found = structural::validate(root, path);
        let found = if found.is_empty() { defaults(root, path) } else { found };
        has_rules = found.is_empty();
        errors.extend(found);
    }
    let place = Place { is_root: true, has_rules, ..Place::default() };
    let found = keywords::validate(root, path, place);
    let before = errors.len();
    errors.extend(found.keywords);
    errors.extend(found.rules);
    if let Some(why) = unreadable.filter(|_| errors.len() == before) {
        errors.push(Error::invalid(path, "", why));
    }
}

fn defaults(root: &Value, path: &str) -> Vec<Error> {
    let schema = Schema { is_embedded_resource: true, ..from_open_api(root) };
    default_values::validate(&Arc::new(schema), path, true)
}

fn beside_status(root: &Value, path: &str, errors: &mut Vec<Error>) {
    let kind = text(root, "type");
    if !kind.is_empty() && kind != "object" {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is \
                      enabled";
        errors.push(Error::invalid(format!("{path}.type"), kind, detail));
        return;
    }
    let names = root.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    if names.into_iter().any(|name| is_set(root, name) && !BESIDE_STATUS.contains(&name)) {
        let detail = "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength \
                      MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties \
                      ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the \
                      schema if the status subresource is enabled";
        errors.push(Error::new(path, Problem::InvalidUnshown, detail));
    }
}

/// Why a schema cannot be read as a structural one at all.
fn unreadable(value: &Value) -> Option<&'static str> {
    let there = |name: &str| value.get(name).is_some_and(|value| !value.is_null());
    let own = match () {
        () if is_set(value, "id") => Some("OpenAPIV3Schema 'id' is not supported"),
        () if is_set(value, "$schema") => Some("OpenAPIV3Schema 'schema' is not supported"),
        () if there("$ref") => Some("OpenAPIV3Schema '$ref' is not supported"),
        () if is_set(value, "patternProperties") => {
            Some("OpenAPIV3Schema 'patternProperties' is not supported")
        }
        () if there("dependencies") => Some("OpenAPIV3Schema 'dependencies' is not supported"),
        () if there("additionalItems") => Some("OpenAPIV3Schema 'additionalItems' is not supported"),
        () if is_set(value, "definitions") => Some("OpenAPIV3Schema 'definitions' is not supported"),
        () if !list(value, "items").is_empty() => {
            Some("OpenAPIV3Schema 'items' must be a schema, but is an array")
        }
        () if value.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) => {
            Some("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined")
        }
        () => None,
    };
    own.or_else(|| parts(value).into_iter().find_map(unreadable))
}

/// The schemas right inside a schema.
fn parts(value: &Value) -> Vec<&Value> {
    let single = ["items", "additionalProperties", "not"].into_iter().filter_map(|name| schema(value, name));
    let several = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|name| list(value, name));
    single.chain(several).chain(fields(value, "properties").map(|(_, field)| field)).collect()
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
        collect_formats(root, &mut found);
    }
    found
}

fn collect_formats(value: &Value, found: &mut Vec<String>) {
    let format = text(value, "format");
    if !format.is_empty() && !is_known_format(&from_open_api(&json!({"type": value.get("type")})), format) {
        found.push(format.to_owned());
    }
    for part in parts(value) {
        collect_formats(part, found);
    }
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

fn is_too_deep(value: &Value) -> bool {
    let mut layer: Vec<&Value> = vec![value];
    for _ in 0..MOST_NESTING {
        if layer.is_empty() {
            return false;
        }
        let inside = layer.into_iter().flat_map(|value| -> Box<dyn Iterator<Item = &Value>> {
            match value {
                Value::Array(items) => Box::new(items.iter()),
                Value::Object(fields) => Box::new(fields.values()),
                _ => Box::new(std::iter::empty()),
            }
        });
        layer = inside.collect();
    }
    !layer.is_empty()
}

fn too_deep() -> Error {
    let detail = format!("must not be nested deeper than {MOST_NESTING} levels");
    Error::new("spec", Problem::InvalidUnshown, detail)
}
