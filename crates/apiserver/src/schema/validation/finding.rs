//! What a check found, and what many checks found together.

use std::collections::HashSet;

use serde_json::Value;

use crate::field::{Error, Problem, Quoted};
use crate::schema::path::Path;

/// Something wrong. The text is what Kubernetes compares to say the same thing only once.
#[derive(Debug)]
pub(super) struct Finding {
    /// Of the field within what is checked; nothing where the finding names no field.
    name: Option<String>,
    problem: Problem,
    detail: String,
    text: String,
}

/// Findings, and how much was in order: of several schemas that fail, the one that fits best speaks.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub findings: Vec<Finding>,
    pub matches: usize,
}

impl Finding {
    pub(super) fn required(path: &Path<'_>) -> Self {
        let text = format!("{path} in body is required");
        Self { name: Some(path.to_string()), problem: Problem::Required, detail: String::new(), text }
    }

    /// `rule` follows the words `in body`.
    pub(super) fn invalid(path: &Path<'_>, value: impl Into<Value>, rule: &str) -> Self {
        let detail = format!("{path} in body {rule}");
        Self::with(path, Problem::Invalid(value.into()), detail)
    }

    pub(super) fn wrong_type(path: &Path<'_>, wanted: &str, found: &str) -> Self {
        let detail = format!("{path} in body must be of type {wanted}: {}", Quoted(found));
        Self::with(path, Problem::TypeInvalid(found.into()), detail)
    }

    pub(super) fn with(path: &Path<'_>, problem: Problem, detail: String) -> Self {
        Self { name: Some(path.to_string()), problem, text: detail.clone(), detail }
    }

    /// Something wrong of which Kubernetes does not say where in the name of a field.
    pub(super) fn nowhere(detail: String) -> Self {
        Self { name: None, problem: Problem::Invalid("".into()), text: detail.clone(), detail }
    }

    pub(super) fn too_long(path: &Path<'_>, most: u64) -> Self {
        let error = Error::too_long("", usize::try_from(most).unwrap_or(usize::MAX));
        let text = format!("{path} in body should be at most {most} chars long");
        Self { name: Some(path.to_string()), problem: error.problem, detail: error.detail, text }
    }

    pub(super) fn too_many(path: &Path<'_>, count: usize, most: usize, what: &str) -> Self {
        let error = Error::too_many("", count, most);
        let text = format!("{path} in body should have at most {most} {what}");
        Self { name: Some(path.to_string()), problem: error.problem, detail: error.detail, text }
    }

    pub(super) fn not_supported(path: &Path<'_>, value: &Value, listed: &[Value]) -> Self {
        let listed: Vec<String> = listed.iter().map(plain).collect();
        let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
        let error = Error::not_supported("", value.clone(), &listed);
        let text = format!("{path} in body should be one of {listed:?}");
        Self { name: Some(path.to_string()), problem: error.problem, detail: error.detail, text }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Outcome {
    /// Nothing wrong, and one thing in order.
    pub(super) fn matching() -> Self {
        Self { findings: Vec::new(), matches: 1 }
    }

    pub(super) fn is_valid(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.findings.extend(other.findings);
        self.matches += other.matches;
    }

    /// Takes over what a check of this value found; none where the check does not apply to it.
    pub(super) fn step(&mut self, other: Option<Self>) {
        if let Some(other) = other {
            self.merge(other);
            self.matches += 1;
        }
    }

    pub(super) fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
    }

    pub(super) fn forgive(&mut self) {
        self.findings.clear();
    }

    pub(super) fn into_errors(self, base: &str) -> Vec<Error> {
        let mut said = HashSet::new();
        let findings = self.findings.into_iter().filter(|finding| said.insert(finding.text.clone()));
        findings
            .map(|finding| Error::new(located(base, finding.name), finding.problem, finding.detail))
            .collect()
    }
}

fn located(base: &str, name: Option<String>) -> String {
    match (base, name.as_deref().map(|name| name.trim_start_matches('.'))) {
        ("", None | Some("")) => "<nil>".into(),
        ("", Some(name)) => name.into(),
        (base, None | Some("")) => base.into(),
        (base, Some(name)) => format!("{base}.{name}"),
    }
}

impl From<Finding> for Outcome {
    fn from(finding: Finding) -> Self {
        Self { findings: vec![finding], matches: 0 }
    }
}

impl From<Option<Finding>> for Outcome {
    fn from(finding: Option<Finding>) -> Self {
        Self { findings: finding.into_iter().collect(), matches: 0 }
    }
}
