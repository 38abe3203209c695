//! Lists as clients want them: whole, as tables, or only metadata. A list of ten thousand is written straight into the
//! answer, object by object, and never exists as one value.

use serde_json::{Map, Value, json};

use crate::api::{Page, is_as_stored, shown};
use crate::negotiation::{Extent, Form, Representation, Syntax};
use crate::object::Object;
use crate::resource::Resource;
use crate::status::Status;
use crate::table::{self, Columns, IncludeObject};
use crate::text::Text;

/// What the parts of a page become.
pub(super) fn write(
    resource: &Resource,
    page: &Page,
    representation: Representation,
    include: IncludeObject,
) -> Result<Vec<u8>, Status> {
    let objects = || page.entries.iter().map(|entry| shown(resource, entry));
    let metadata = metadata(page);
    match representation.form {
        Form::Table(version) => {
            let mut refused = None;
            let rows = objects().map_while(|object| object.map_err(|status| refused = Some(status)).ok());
            let table =
                table::table(columns(resource), rows, metadata, include, true, jiff::Timestamp::now());
            refused.map_or_else(|| encode(&in_version(table, version), representation.syntax), Err)
        }
        Form::Partial(Extent::Object, _) => Err(wrong_extent(resource, Extent::List)),
        Form::Partial(Extent::List, version) => {
            let partial = |object: Result<Value, Status>| object.map(|object| partial(&object, version));
            let items: Vec<Value> = objects().map(partial).collect::<Result<_, _>>()?;
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
                Syntax::Yaml => {
                    let items: Vec<Value> = objects().collect::<Result<_, _>>()?;
                    encode(&whole(resource, &metadata, items), Syntax::Yaml)
                }
                Syntax::Json => written(resource, &metadata, page),
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

fn whole(resource: &Resource, metadata: &Value, objects: Vec<Value>) -> Value {
    let items: Vec<Value> = objects.into_iter().map(|object| item(resource, object)).collect();
    json!({"kind": resource.list_kind, "apiVersion": resource.api_version(), "metadata": metadata, "items": items})
}

/// Items of Kubernetes' own lists leave out what the list says already.
fn item(resource: &Resource, mut item: Value) -> Value {
    if let Some(fields) = item.as_object_mut().filter(|_| resource.is_built_in()) {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    item
}

fn written(resource: &Resource, metadata: &Value, page: &Page) -> Result<Vec<u8>, Status> {
    let head =
        json!({"kind": resource.list_kind, "apiVersion": resource.api_version(), "metadata": metadata});
    let mut text =
        Vec::with_capacity(512 + page.entries.iter().map(|it| it.text.json().len() + 1).sum::<usize>());
    text.extend_from_slice(head.to_string().as_bytes());
    text.pop();
    text.extend_from_slice(b",\"items\":[");
    for (index, entry) in page.entries.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        if is_as_stored(resource, entry) {
            write_item(resource, &entry.text, &mut text);
        } else {
            write_item(resource, &Text::of(&shown(resource, entry)?), &mut text);
        }
    }
    text.extend_from_slice(b"]}");
    Ok(text)
}

fn write_item(resource: &Resource, object: &Text, text: &mut Vec<u8>) {
    if resource.is_built_in() {
        text.push(b'{');
        text.extend_from_slice(object.rest());
    } else {
        text.extend_from_slice(object.json());
    }
}

/// The version of a list that stands for one object.
pub(super) fn single_metadata(object: &Value) -> Value {
    json!({"resourceVersion": object.resource_version()})
}
