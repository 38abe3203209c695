//! Lists as clients want them: whole, as tables, or only metadata. A list of ten thousand is written from the text of its
//! objects straight into the answer, and never exists as one value.

mod parts;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::api::{Page, check_shown, shown};
use crate::negotiation::{Extent, Form, Representation, Syntax};
use crate::object::Object;
use crate::resource::Resource;
use crate::status::Status;
use crate::table::{self, Columns, IncludeObject};
use parts::Parts;

/// How a list is put.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub representation: Representation,
    pub include: IncludeObject,
}

/// The whole text of a list that is short or not in JSON; of others the parts, as the client takes them.
pub(super) enum Written {
    Whole(Vec<u8>),
    Parts(Vec<u8>, Parts),
}

/// Puts a page into words.
pub(super) fn write(resource: &Arc<Resource>, page: Page, shape: Shape) -> Result<Written, Status> {
    if let Form::Partial(Extent::Object, _) = shape.representation.form {
        return Err(wrong_extent(resource, Extent::List));
    }
    let is_stream = shape.representation.syntax == Syntax::Json && !page.entries.is_empty();
    if !is_stream {
        return encode(&whole(resource, &page, shape)?, shape.representation.syntax).map(Written::Whole);
    }
    // What cannot be shown is to be known before the answer begins.
    page.entries.iter().try_for_each(|entry| check_shown(resource, entry))?;
    let mut parts = Parts::new(resource, page, shape);
    let first = parts.next().unwrap_or_default();
    Ok(if parts.is_done { Written::Whole(first) } else { Written::Parts(first, parts) })
}

/// The list as one value.
fn whole(resource: &Resource, page: &Page, shape: Shape) -> Result<Value, Status> {
    let objects = page.entries.iter().map(|entry| shown(resource, entry));
    let objects: Vec<Value> = objects.collect::<Result<_, _>>()?;
    let form = shape.representation.form;
    if let Form::Table(version) = form {
        let now = jiff::Timestamp::now();
        let table = table::table(columns(resource), objects, metadata(page), shape.include, true, now);
        return Ok(in_version(table, version));
    }
    let listed = |object: Value| match form {
        Form::Partial(_, version) => partial(&object, version),
        _ => item(resource, object),
    };
    let mut list = head(resource, page, shape);
    list["items"] = objects.into_iter().map(listed).collect();
    Ok(list)
}

/// All of a list but what is listed.
fn head(resource: &Resource, page: &Page, shape: Shape) -> Value {
    match shape.representation.form {
        Form::Table(version) => {
            let now = jiff::Timestamp::now();
            let mut table = table::table(columns(resource), [], metadata(page), shape.include, true, now);
            table.as_object_mut().and_then(|table| table.remove("rows"));
            in_version(table, version)
        }
        Form::Partial(_, version) => json!({
            "kind": "PartialObjectMetadataList",
            "apiVersion": format!("meta.k8s.io/{version}"),
            "metadata": metadata(page),
        }),
        _ => {
            let metadata = with_continuation(resource, metadata(page));
            json!({"kind": resource.list_kind, "apiVersion": resource.api_version(), "metadata": metadata})
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

/// Items of Kubernetes' own lists leave out what the list says already.
fn item(resource: &Resource, mut item: Value) -> Value {
    if let Some(fields) = item.as_object_mut().filter(|_| resource.is_built_in()) {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    item
}

/// The version of a list that stands for one object.
pub(super) fn single_metadata(object: &Value) -> Value {
    json!({"resourceVersion": object.resource_version()})
}
