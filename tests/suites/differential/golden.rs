//! What the real server answered: read, looked up and written. One file per file of cases.

mod layout;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::case::{File, HOME};

/// Answers by the name of the case.
pub(crate) type Goldens = BTreeMap<String, Value>;

/// None at all if nothing was recorded yet.
pub(crate) fn read(file: &File) -> Result<Goldens> {
    let path = path(file);
    if !path.exists() {
        return Ok(Goldens::new());
    }
    serde_json::from_str(&fs::read_to_string(&path)?)
        .with_context(|| format!("cannot read {}", path.display()))
}

pub(crate) fn write(file: &File, goldens: &Goldens) -> Result<()> {
    let path = path(file);
    fs::create_dir_all(path.parent().context("goldens are in a folder")?)?;
    let text = layout::lay_out(&serde_json::to_value(goldens)?);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn path(file: &File) -> PathBuf {
    PathBuf::from(HOME).join("goldens").join(&file.area).join(format!("{}.json", file.name))
}
