//! The cases as they are written: files of named conversations with an API server. Runs nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where the suite keeps its data.
pub(crate) const HOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/suites/differential");

/// One file of cases.
pub(crate) struct File {
    pub area: String,
    pub name: String,
    pub contents: Contents,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contents {
    /// Parts that the cases share through YAML's anchors.
    #[serde(default, rename = "shared")]
    _shared: Value,
    /// Done once before the cases, whose variables it sets; `$file` is unique to the run.
    #[serde(default)]
    pub setup: Vec<Step>,
    pub cases: Vec<Case>,
}

/// A conversation. `$ns` is a namespace of its own, `$unique` a name nobody else has, `$mebibyte` a text as long.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub name: String,
    /// Must succeed and is not compared.
    #[serde(default)]
    pub setup: Vec<Step>,
    pub steps: Vec<Step>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// Method and path with query.
    pub request: String,
    /// In place of what the suite would send; null takes a header away.
    #[serde(default)]
    pub headers: BTreeMap<String, Option<String>>,
    /// The kind of a PATCH, which sets its content type.
    pub patch: Option<PatchKind>,
    #[serde(flatten)]
    pub body: Body,
    /// Who asks, through impersonation by the administrator.
    #[serde(rename = "as")]
    pub user: Option<User>,
    /// Variables for later steps: name to pointer into the answer.
    #[serde(default)]
    pub capture: BTreeMap<String, String>,
    /// Ask again until the answer is as wanted; only the last one counts.
    pub until: Option<Until>,
    pub watch: Option<Watch>,
    #[serde(flatten)]
    pub selection: Selection,
}

/// At most one of these.
#[derive(Deserialize, Serialize)]
pub(crate) struct Body {
    #[serde(rename = "body")]
    pub json: Option<Value>,
    pub text: Option<String>,
    pub base64: Option<String>,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PatchKind {
    Json,
    Merge,
    Strategic,
    Apply,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct User {
    pub name: String,
    #[serde(default)]
    pub groups: Vec<String>,
    pub uid: Option<String>,
    #[serde(default)]
    pub extra: BTreeMap<String, String>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Until {
    pub status: Option<u16>,
    /// A pointer into the body.
    pub at: Option<String>,
    /// What is there; null for nothing.
    #[serde(default)]
    pub is: Value,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Watch {
    /// How many events to wait for; none waits for the server to end the stream.
    pub events: Option<usize>,
    /// Bookmarks come at the server's own pace: they are dropped, unless those that end initial events are asked for.
    #[serde(default)]
    pub bookmarks: bool,
    /// What happens once the stream is open.
    #[serde(default, rename = "while")]
    pub meanwhile: Vec<Step>,
}

/// Which part of a body is compared, where the whole depends on what else a server serves.
#[derive(Deserialize, Serialize)]
pub(crate) struct Selection {
    /// Nothing but what is at these pointers.
    #[serde(default)]
    pub only: Vec<String>,
    /// Elements of a list that stay.
    #[serde(default)]
    pub keep: Vec<Keep>,
    /// Pointers whose values are replaced; `*` is every element.
    #[serde(default)]
    pub mask: Vec<String>,
    /// Pointers to texts of which the first line counts: what follows is printed by a library of Go's.
    #[serde(default)]
    pub first_line: Vec<String>,
    /// The causes of a Status come in any order.
    #[serde(default)]
    pub unordered: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Keep {
    /// Where the list is; `*` is every element.
    pub list: String,
    /// A pointer into an element; the element itself if empty.
    pub by: String,
    pub values: BTreeSet<String>,
    /// For lists whose order the real server leaves to chance.
    #[serde(default)]
    pub sorted: bool,
}

impl File {
    /// How deviations and filters name the cases.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.contents.cases.iter().map(|case| self.id(case)).collect()
    }

    pub(crate) fn id(&self, case: &Case) -> String {
        format!("{}/{}: {}", self.area, self.name, case.name)
    }
}

impl Case {
    /// What the author wrote, for telling it from what a server made up.
    pub(crate) fn source(&self) -> String {
        serde_json::to_string(self).expect("cases are plain data")
    }
}

pub(crate) fn folder() -> PathBuf {
    Path::new(HOME).join("cases")
}

pub(crate) fn read_area(area: &str) -> Result<Vec<File>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder().join(area)).with_context(|| format!("no cases for {area}"))? {
        paths.push(entry?.path());
    }
    paths.sort();
    let files: Vec<_> = paths.iter().map(|path| read(area, path)).collect::<Result<_>>()?;
    let names: Vec<_> = files.iter().flat_map(|file| &file.contents.cases).map(|case| &case.name).collect();
    let repeated = names.iter().find(|name| names.iter().filter(|other| other == name).count() > 1);
    ensure!(repeated.is_none(), "{area} has two cases named {}", repeated.expect("checked"));
    Ok(files)
}

fn read(area: &str, path: &Path) -> Result<File> {
    let text = fs::read_to_string(path)?;
    // `y` and `off` are texts, as in the YAML of today.
    let options = serde_saphyr::options! { strict_booleans: true };
    let contents = serde_saphyr::from_str_with_options(&text, options)
        .with_context(|| format!("cannot read cases from {}", path.display()))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(File { area: area.to_owned(), name, contents })
}
