//! Lists as clients want them: whole, as tables, or only metadata. A list of ten thousand is written straight into the
//! answer, object by object, and never exists as one value.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::api::{Page, shown};
use crate::negotiation::{Extent, Form, Representation, Syntax};
use crate::object::Object;
use crate::resource::Resource;
use crate::status::Status;
use crate::table::{self, Columns, IncludeObject};

/// What the parts of a page become.
pub(super) fn write(
    resource: &Resource,
    page: &Page,
    representation: Representation,
    include: IncludeObject,
) -> Result<Vec<u8>, Status> {
    let objects: Vec<Cow<'_, Value>> =
        page.entries.iter().map(|entry| shown(resource, &entry.value)).collect::<Result<_, _>>()?;
    let metadata = metadata(page);
    match representation.form {
        Form::Table(version) => {
            let rows: Vec<&Value> = objects.iter().map(AsRef::as_ref).collect();
            let table =
                table::table(columns(resource), &rows, metadata, include, true, jiff::Timestamp::now());
            let table = in_version(table, version);
            encode(&table, representation.syntax)
        }
        Form::Partial(Extent::Object, _) => Err(wrong_extent(resource, Extent::List)),
        Form::Partial(Extent::List, version) => {
            let items: Vec<Value> = objects.iter().map(|object| partial(object, version)).collect();
            let list = json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": format!("meta.k8s.io/{version}"),
                "metadata": metadata,
                "items": items,
            });
            encode(&list, representation.syntax)
        }
        _ => {
            let metadata = with_continuation(resource, metadata);
            match representation.syntax {
                Syntax::Yaml => encode(&whole(resource, &metadata, &objects), Syntax::Yaml),
                Syntax::Json => Ok(written(resource, &metadata, &objects)),
            }
        }
    }
}

fn encode(value: &Value, syntax: Syntax) -> Result<Vec<u8>, Status> {
    match syntax {
        Syntax::Json => serde_json::to_vec(value).map_err(|error| Status::internal(&error.to_string())),
        Syntax::Yaml => serde_saphyr::to_string(value)
            .map(String::into_bytes)
            .map_err(|error| Status::internal(&error.to_string())),
    }
}

/// A table in a version of `meta.k8s.io`; they differ in their name only.
pub(super) fn in_version(mut table: Value, version: &str) -> Value {
    table["apiVersion"] = format!("meta.k8s.io/{version}").into();
    table
}

pub(super) fn columns(resource: &Resource) -> &Columns {
    &resource.columns
}

/// The metadata of an object, and nothing else of it.
pub(super) fn partial(object: &Value, version: &str) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_default();
    let api_version = format!("meta.k8s.io/{version}");
    json!({"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": metadata})
}

/// A client that asked for the metadata of an object and named a list, or the other way round.
pub(super) fn wrong_extent(resource: &Resource, actual: Extent) -> Status {
    let package = match resource.group.split('.').next() {
        Some("") | None => "core",
        Some(package) => package,
    };
    let (asked, is, kind) = match (actual, resource.is_built_in()) {
        (Extent::List, true) => {
            ("PartialObjectMetadata", "a list", format!("*{package}.{}", resource.list_kind))
        }
        (Extent::List, false) => {
            ("PartialObjectMetadata", "a list", "*unstructured.UnstructuredList".to_owned())
        }
        (Extent::Object, true) => {
            ("PartialObjectMetadataList", "not a list", format!("*{package}.{}", resource.kind))
        }
        (Extent::Object, false) => {
            ("PartialObjectMetadataList", "not a list", "*unstructured.Unstructured".to_owned())
        }
    };
    let message = format!("you requested {asked}, but the requested object is {is} ({kind})");
    Status::new(406, "NotAcceptable", message)
}

fn metadata(page: &Page) -> Value {
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".to_owned(), page.revision.to_string().into());
    if let Some(continuation) = &page.continuation {
        metadata.insert("continue".to_owned(), continuation.as_str().into());
    }
    if let Some(remaining) = page.remaining {
        metadata.insert("remainingItemCount".to_owned(), remaining.into());
    }
    metadata.into()
}

/// Lists of defined kinds say how to go on even when there is nothing to go on to.
fn with_continuation(resource: &Resource, mut metadata: Value) -> Value {
    if !resource.is_built_in() && metadata.get("continue").is_none() {
        metadata["continue"] = "".into();
    }
    metadata
}

fn whole(resource: &Resource, metadata: &Value, objects: &[Cow<'_, Value>]) -> Value {
    let items: Vec<Value> = objects.iter().map(|object| item(resource, object)).collect();
    json!({"kind": resource.list_kind, "apiVersion": resource.api_version(), "metadata": metadata, "items": items})
}

/// Items of Kubernetes' own lists leave out what the list says already.
fn item(resource: &Resource, object: &Value) -> Value {
    let mut item = object.clone();
    if let Some(fields) = item.as_object_mut().filter(|_| resource.is_built_in()) {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    item
}

fn written(resource: &Resource, metadata: &Value, objects: &[Cow<'_, Value>]) -> Vec<u8> {
    let head =
        json!({"kind": resource.list_kind, "apiVersion": resource.api_version(), "metadata": metadata});
    let mut text = head.to_string().into_bytes();
    text.pop();
    text.extend_from_slice(b",\"items\":[");
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        write_item(resource, object, &mut text);
    }
    text.extend_from_slice(b"]}");
    text
}

fn write_item(resource: &Resource, object: &Value, text: &mut Vec<u8>) {
    let Some(fields) = object.as_object().filter(|_| resource.is_built_in()) else {
        serde_json::to_writer(text, object).expect("a JSON value becomes JSON");
        return;
    };
    text.push(b'{');
    let kept = fields.iter().filter(|(name, _)| !matches!(name.as_str(), "apiVersion" | "kind"));
    for (index, (name, value)) in kept.enumerate() {
        if index > 0 {
            text.push(b',');
        }
        serde_json::to_writer(&mut *text, name).expect("text becomes JSON");
        text.push(b':');
        serde_json::to_writer(&mut *text, value).expect("a JSON value becomes JSON");
    }
    text.push(b'}');
}

/// The version of a list that stands for one object.
pub(super) fn single_metadata(object: &Value) -> Value {
    json!({"resourceVersion": object.resource_version()})
}
