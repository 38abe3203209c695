//! Lists as clients want them: whole, as tables, or only metadata. A list of ten thousand is written straight into the
//! answer, object by object, and never exists as one value.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::api::{Page, is_as_stored, shown};
use crate::negotiation::{Extent, Form, Representation, Syntax};
use crate::object::Object;
use crate::resource::Resource;
use crate::status::Status;
use crate::store::Entry;
use crate::table::{self, Columns, IncludeObject};
use crate::text::Text;

/// What the parts of a page become.
pub(super) fn write(
    resource: &Resource,
    page: &Page,
    representation: Representation,
    include: IncludeObject,
) -> Result<Vec<u8>, Status> {
    if let Form::Partial(Extent::Object, _) = representation.form {
        return Err(wrong_extent(resource, Extent::List));
    }
    match representation.syntax {
        Syntax::Json => written(resource, page, representation.form, include),
        Syntax::Yaml => encode(&tree(resource, page, representation.form, include)?, Syntax::Yaml),
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

/// A list without what is in it, and the name of the field for that.
fn frame(resource: &Resource, page: &Page, form: Form, include: IncludeObject) -> (Value, &'static str) {
    let metadata = metadata(page);
    match form {
        Form::Table(version) => {
            let table = table::table(columns(resource), [], metadata, include, true, jiff::Timestamp::now());
            (in_version(table, version), "rows")
        }
        Form::Partial(_, version) => {
            let api_version = format!("meta.k8s.io/{version}");
            (
                json!({"kind": "PartialObjectMetadataList", "apiVersion": api_version, "metadata": metadata}),
                "items",
            )
        }
        Form::Whole | Form::Aggregated => {
            let (kind, metadata) = (&resource.list_kind, with_continuation(resource, metadata));
            (json!({"kind": kind, "apiVersion": resource.api_version(), "metadata": metadata}), "items")
        }
    }
}

/// The whole list as one value, for those who do not read JSON.
fn tree(resource: &Resource, page: &Page, form: Form, include: IncludeObject) -> Result<Value, Status> {
    let (mut list, field) = frame(resource, page, form, include);
    let now = jiff::Timestamp::now();
    let part = |object: Value| match form {
        Form::Table(_) => columns(resource).row(object, include, now),
        Form::Partial(_, version) => partial(&object, version),
        Form::Whole | Form::Aggregated => item(resource, object),
    };
    let parts = page.entries.iter().map(|entry| shown(resource, entry).map(part));
    let parts: Vec<Value> = parts.collect::<Result<_, _>>()?;
    if !(parts.is_empty() && field == "rows") {
        list[field] = parts.into();
    }
    Ok(list)
}

fn written(resource: &Resource, page: &Page, form: Form, include: IncludeObject) -> Result<Vec<u8>, Status> {
    let (mut list, field) = frame(resource, page, form, include);
    if page.entries.is_empty() && field == "rows" {
        return encode(&list, Syntax::Json);
    }
    if let Some(list) = list.as_object_mut() {
        list.remove(field);
    }
    let mut text = list.to_string().into_bytes();
    text.reserve(page.entries.iter().map(|entry| entry.text.json().len()).sum());
    text.pop();
    text.extend([b",\"", field.as_bytes(), b"\":["].concat());
    let now = jiff::Timestamp::now();
    for (index, entry) in page.entries.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        let object = shown_text(resource, entry)?;
        match form {
            Form::Table(_) => write_row(resource, &object, include, now, &mut text),
            Form::Partial(_, version) => write_partial(&object, version, &mut text),
            Form::Whole | Form::Aggregated => write_item(resource, &object, &mut text),
        }
    }
    text.extend_from_slice(b"]}");
    Ok(text)
}

fn shown_text<'a>(resource: &Resource, entry: &'a Entry) -> Result<Cow<'a, Text>, Status> {
    if is_as_stored(resource, entry) {
        return Ok(Cow::Borrowed(&entry.text));
    }
    Ok(Cow::Owned(Text::of(&shown(resource, entry)?)))
}

fn write_item(resource: &Resource, object: &Text, text: &mut Vec<u8>) {
    if resource.is_built_in() {
        text.push(b'{');
        text.extend_from_slice(object.rest());
    } else {
        text.extend_from_slice(object.json());
    }
}

fn write_partial(object: &Text, version: &str, text: &mut Vec<u8>) {
    text.extend_from_slice(b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/");
    text.extend_from_slice(version.as_bytes());
    text.extend_from_slice(b"\",\"metadata\":");
    text.extend_from_slice(object.metadata());
    text.push(b'}');
}

/// A row with its cells from a tree, and with what it holds of its object from the text.
fn write_row(
    resource: &Resource,
    object: &Text,
    include: IncludeObject,
    now: jiff::Timestamp,
    text: &mut Vec<u8>,
) {
    // Columns of definitions may show anything.
    let tree = if resource.is_built_in() { object.value_without_managers() } else { object.value() };
    let mut row = columns(resource).row(tree, IncludeObject::None, now);
    if let Some(row) = row.as_object_mut().filter(|_| include != IncludeObject::None) {
        row.remove("object");
    }
    serde_json::to_writer(&mut *text, &row).expect("a JSON value becomes JSON");
    if include == IncludeObject::None {
        return;
    }
    text.pop();
    text.extend_from_slice(b",\"object\":");
    match include {
        IncludeObject::Object => text.extend_from_slice(object.json()),
        _ => write_partial(object, "v1", text),
    }
    text.push(b'}');
}

/// The version of a list that stands for one object.
pub(super) fn single_metadata(object: &Value) -> Value {
    json!({"resourceVersion": object.resource_version()})
}
