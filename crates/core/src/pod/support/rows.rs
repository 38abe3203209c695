//! The table as people read it, in docs/pod-fields.md.

use super::proofs::proof;
use super::{Allowance, Field, KINDS, Kind, Verdict};

/// One field in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Kind and field: `Container.tty`.
    pub field: String,
    pub verdict: String,
    pub note: &'static str,
    /// The test that sees what it does; none where it is refused.
    pub proof: Option<&'static str>,
}

pub fn rows() -> Vec<Row> {
    let kinds = KINDS.iter().copied().flatten();
    kinds.flat_map(|kind| kind.fields.iter().map(|field| row(kind, field))).collect()
}

/// The whole table in Markdown.
pub fn markdown() -> String {
    let head = "| field | here | how, or why not | seen by |\n|---|---|---|---|\n";
    rows().iter().map(line).fold(head.to_owned(), |text, line| text + &line)
}

fn line(row: &Row) -> String {
    let proof = row.proof.map_or_else(String::new, |proof| format!("`{proof}`"));
    format!("| `{}` | {} | {} | {proof} |\n", row.field, row.verdict, row.note)
}

fn row(kind: &Kind, field: &Field) -> Row {
    Row {
        field: format!("{}.{}", kind.name, field.name),
        verdict: verdict(field.verdict),
        note: field.note,
        proof: proof(kind.name, field.name).filter(|_| field.verdict != Verdict::Refused),
    }
}

fn verdict(verdict: Verdict) -> String {
    match verdict {
        Verdict::Honoured => "honoured".to_owned(),
        Verdict::Refused => "refused".to_owned(),
        Verdict::Only(values) => format!("only {}", list(values)),
        Verdict::Allow { freely, allowance, refused } => {
            let free = if freely.is_empty() { String::new() } else { format!("{}; ", list(freely)) };
            let never = if refused.is_empty() { String::new() } else { format!("; never {}", list(refused)) };
            format!("{free}else {}{never}", with(allowance))
        }
    }
}

fn with(allowance: Allowance) -> String {
    match allowance {
        Allowance::HostPorts => "on the host's network".to_owned(),
        other => format!("with `--allow {}`", other.as_str()),
    }
}

fn list(values: &[&str]) -> String {
    values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
}
