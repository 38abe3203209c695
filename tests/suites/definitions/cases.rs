//! The objects to try. They are data, one file per kind and version; what should become of them stands in the snapshots.

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) struct Case {
    pub name: String,
    pub object: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    api_version: String,
    kind: String,
    cases: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    /// None is tried too.
    spec: Option<Value>,
}

pub(crate) fn read(yaml: &str) -> Result<Vec<Case>> {
    let file: File = serde_saphyr::from_str(yaml).context("reading the cases")?;
    let case = |row: &Row| Case { name: row.name.clone(), object: object(&file, row) };
    Ok(file.cases.iter().map(case).collect())
}

fn object(file: &File, row: &Row) -> Value {
    let name = row.name.replace([' ', '\''], "-").to_lowercase();
    let mut object = json!({"apiVersion": file.api_version, "kind": file.kind, "metadata": {"name": name}});
    if let Some(spec) = &row.spec {
        object["spec"] = spec.clone();
    }
    object
}
