//! Objects as the rows and columns that `kubectl get` prints: `Table` of `meta.k8s.io/v1`.
//!
//! A watch sends each event as a table of one row, bookmarks too, and the columns only with the first.

mod age;
mod binding;
mod built_in;
mod custom;
mod endpoints;
mod event;
mod json_path;
mod node;
mod pod;
mod reading;
mod selector;
mod service;
mod volume;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::field;
use crate::identity::GroupKind;
use crate::status::Status;
use built_in::Printer;
use custom::CustomColumn;

/// What is shown of the objects of a kind.
pub struct Columns {
    definitions: Vec<Value>,
    cells: Cells,
}

enum Cells {
    BuiltIn(Printer),
    Custom(Vec<CustomColumn>),
}

/// What a row holds of its object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    None,
    #[default]
    Metadata,
    Object,
}

impl Columns {
    /// The columns of a kind of Kubernetes itself: name and time of creation, where no others are known.
    pub fn built_in(kind: &GroupKind) -> Self {
        let (definitions, printer) = built_in::columns(kind);
        Self { definitions, cells: Cells::BuiltIn(printer) }
    }

    /// The columns of one version of a definition, from its `additionalPrinterColumns`.
    pub fn from_definition(columns: &[Value]) -> Self {
        let (definitions, columns) = custom::columns(columns);
        Self { definitions, cells: Cells::Custom(columns) }
    }

    /// What a table shows of one object.
    pub fn row(&self, object: Value, include: IncludeObject, now: Timestamp) -> Value {
        let cells = match &self.cells {
            Cells::BuiltIn(printer) => printer.cells(&object, now),
            Cells::Custom(columns) => custom::cells(columns, &object, now),
        };
        let conditions = match self.cells {
            Cells::BuiltIn(Printer::Pod) => pod::row_conditions(&object),
            _ => None,
        };
        let mut row = json!({"cells": cells, "object": included(object, include)});
        if let Some(conditions) = conditions {
            row["conditions"] = conditions;
        }
        row
    }
}

impl IncludeObject {
    /// The value of the query parameter `includeObject`.
    pub fn parse(text: &str) -> Result<Self, Status> {
        match text {
            "" | "Metadata" => Ok(Self::Metadata),
            "None" => Ok(Self::None),
            "Object" => Ok(Self::Object),
            other => {
                let rule = "must be 'Metadata', 'Object', 'None', or empty";
                let error = field::Error::invalid("includeObject", other, rule);
                Err(Status::bad_request(format!("Unable to convert to Table as requested: {error}")))
            }
        }
    }
}

/// `list_metadata` is that of the list, or the `resourceVersion` of a single object.
pub fn table(
    columns: &Columns,
    objects: impl IntoIterator<Item = Value>,
    list_metadata: Value,
    include: IncludeObject,
    with_headers: bool,
    now: Timestamp,
) -> Value {
    let definitions = if with_headers { json!(columns.definitions) } else { Value::Null };
    let rows: Vec<Value> = objects.into_iter().map(|object| columns.row(object, include, now)).collect();
    let rows = match &columns.cells {
        // The printer that kube-apiserver has for these leaves the list out.
        Cells::BuiltIn(Printer::Generic) if rows.is_empty() => Value::Null,
        _ => rows.into(),
    };
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": list_metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    })
}

fn included(mut object: Value, include: IncludeObject) -> Value {
    match include {
        IncludeObject::None => Value::Null,
        IncludeObject::Object => object,
        IncludeObject::Metadata => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": object.get_mut("metadata").map_or_else(|| json!({}), Value::take),
        }),
    }
}

#[cfg(test)]
mod tests;
