//! `recorded.json` has objects with the rows that kube-apiserver 1.36.3 made of them, `recorded_custom.json` the same for
//! the columns of a definition.

use std::collections::BTreeMap;

use super::*;

fn columns_of(kind: &str) -> Columns {
    let (kind, group) = kind.split_once('.').unwrap_or((kind, ""));
    Columns::built_in(&GroupKind::new(group, kind))
}

fn moment(text: &Value) -> Timestamp {
    text.as_str().unwrap().parse().unwrap()
}

#[test]
fn recorded_objects_have_the_rows_that_they_had_in_kubernetes() {
    let recorded: BTreeMap<String, Value> = serde_json::from_str(include_str!("recorded.json")).unwrap();
    for (kind, recorded) in &recorded {
        let columns = columns_of(kind);
        for expected in recorded["rows"].as_array().unwrap() {
            let object = &expected["object"];
            let row = columns.row(object.clone(), IncludeObject::Object, moment(&recorded["now"]));
            assert_eq!(row, *expected, "{kind}");
            assert_eq!(row["cells"].as_array().unwrap().len(), columns.definitions.len(), "{kind}");
        }
    }
}

#[test]
fn recorded_custom_columns_are_what_they_were_in_kubernetes() {
    let recorded: Value = serde_json::from_str(include_str!("recorded_custom.json")).unwrap();
    let columns = Columns::from_definition(recorded["columns"].as_array().unwrap());
    assert_eq!(Value::from(columns.definitions.clone()), recorded["definitions"]);
    let row = columns.row(recorded["object"].clone(), IncludeObject::None, moment(&recorded["now"]));
    for (index, definition) in columns.definitions.iter().enumerate() {
        assert_eq!(row["cells"][index], recorded["cells"][index], "{definition}");
    }
}

#[test]
fn a_definition_without_columns_shows_the_age() {
    let columns = Columns::from_definition(&[]);
    let object = json!({"metadata": {"name": "a", "creationTimestamp": "2026-11-15T10:00:00Z"}});
    let now = "2026-11-15T10:05:00Z".parse().unwrap();
    let table = table(
        &columns,
        [object.clone()],
        json!({"resourceVersion": "7"}),
        IncludeObject::Metadata,
        true,
        now,
    );
    let names: Vec<&Value> = columns.definitions.iter().map(|definition| &definition["name"]).collect();
    assert_eq!(names, ["Name", "Age"]);
    let row = json!({
        "cells": ["a", "5m"],
        "object": {
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"],
        },
    });
    let expected = json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "7"},
        "columnDefinitions": columns.definitions, "rows": [row],
    });
    assert_eq!(table, expected);
}

#[test]
fn a_path_that_cannot_be_read_takes_the_columns_behind_it_away() {
    let column = |name: &str, path: &str| json!({"name": name, "type": "string", "jsonPath": path});
    let columns = Columns::from_definition(&[column("A", ".a"), column("B", ".b["), column("C", ".c")]);
    let names: Vec<&Value> = columns.definitions.iter().map(|definition| &definition["name"]).collect();
    assert_eq!(names, ["Name", "A"]);
}

#[test]
fn columns_are_sent_only_when_asked_for() {
    let table = |columns: &Columns| {
        table(columns, [], json!({}), IncludeObject::None, false, "2026-11-15T10:05:00Z".parse().unwrap())
    };
    let (pods, roles) = (table(&columns_of("Pod")), table(&columns_of("Role.rbac.authorization.k8s.io")));
    assert_eq!(pods["columnDefinitions"], Value::Null);
    assert_eq!((&pods["rows"], &roles["rows"]), (&json!([]), &Value::Null));
}

#[test]
fn what_a_row_holds_of_its_object_is_one_of_three_things() {
    assert_eq!(IncludeObject::parse(""), Ok(IncludeObject::Metadata));
    assert_eq!(IncludeObject::parse("None"), Ok(IncludeObject::None));
    let message = "Unable to convert to Table as requested: includeObject: Invalid value: \"Bad\": \
                   must be 'Metadata', 'Object', 'None', or empty";
    assert_eq!(IncludeObject::parse("Bad"), Err(Status::bad_request(message)));
}

#[test]
fn a_bookmark_is_a_row_of_nothing_but_its_revision() {
    let bookmark = json!({"metadata": {"resourceVersion": "9"}});
    let now = "2026-11-15T10:05:00Z".parse().unwrap();
    let row = columns_of("ConfigMap").row(bookmark.clone(), IncludeObject::Metadata, now);
    assert_eq!(row["cells"], json!(["", 0, "<unknown>"]));
    assert_eq!(row["object"]["metadata"], bookmark["metadata"]);
}

#[test]
fn objects_that_lack_everything_have_rows_all_the_same() {
    let now = "2026-11-15T10:05:00Z".parse().unwrap();
    let recorded: BTreeMap<String, Value> = serde_json::from_str(include_str!("columns.json")).unwrap();
    for kind in recorded.keys() {
        for object in [json!(null), json!({}), json!({"metadata": [], "spec": 1, "status": "x"})] {
            let columns = columns_of(kind);
            let row = columns.row(object, IncludeObject::Metadata, now);
            assert_eq!(row["cells"].as_array().unwrap().len(), columns.definitions.len(), "{kind}");
        }
    }
}
