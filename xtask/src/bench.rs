//! `cargo xtask bench`: measures, each thing with what it stands beside in the same run. Judges nothing.

mod apiserver;
mod attendant;
mod claims;
mod dataplane;
mod disk;
mod embedded;
mod example;
mod folder;
mod held;
mod kubernetes;
mod machine;
mod memory;
mod node;
mod processor;
mod program;

use anyhow::Result;
use serde_json::{Value, json};

use crate::kube::Output;
use crate::{terminal, workspace};

/// Measures on this machine and prints a table.
///
/// Numbers from a shared machine vary; compare rows of one run, and quote them with the machine and the command.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only these; `claims`, `node` and `dataplane` are measured only when they are named
    #[arg(value_enum)]
    subjects: Vec<Subject>,

    #[arg(short, long, value_enum, default_value_t)]
    output: Output,

    /// Little of everything: to see that `claims` or `dataplane` works, not to measure
    #[arg(long)]
    quick: bool,

    #[command(flatten)]
    claims: claims::Wishes,

    #[command(flatten)]
    node: node::Wishes,

    #[command(flatten)]
    dataplane: dataplane::Wishes,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Subject {
    /// How long a small write takes to reach the disk
    Disk,
    /// The store of the embedded API, beside the disk it waits for
    Store,
    /// Objects converted between versions
    Conversion,
    /// A real control plane: time to ready, memory
    Kubernetes,
    /// Our API server beside a real one: the same load on both
    Apiserver,
    /// Our operator beside upstream's: the same claims for both; long
    Claims,
    /// Our node beside runc and runsc: the same commands in the same files; needs root
    Node,
    /// Our router beside nginx: the same requests through both; and sandboxd behind it, which needs root
    Dataplane,
}

impl Subject {
    const ALL: [Self; 8] = [
        Self::Disk,
        Self::Store,
        Self::Conversion,
        Self::Kubernetes,
        Self::Apiserver,
        Self::Claims,
        Self::Node,
        Self::Dataplane,
    ];

    fn is_wanted(self, arguments: &Arguments) -> bool {
        let by_itself =
            arguments.subjects.is_empty() && !matches!(self, Self::Claims | Self::Node | Self::Dataplane);
        by_itself || arguments.subjects.contains(&self)
    }

    fn measure(self, arguments: &Arguments) -> Result<Vec<Table>> {
        let table = match self {
            Self::Claims => return claims::measure(&arguments.claims, arguments.quick),
            Self::Dataplane => return dataplane::measure(&arguments.dataplane, arguments.quick),
            Self::Node => node::measure(&arguments.node),
            Self::Disk => disk::measure().map(Table::from),
            Self::Store => {
                let folder = workspace::cache()?.display().to_string();
                example::measure("asb-apiserver", "store_time", &[&folder]).map(Table::from)
            }
            Self::Conversion => example::measure("asb-types", "conversion_time", &[]).map(Table::from),
            Self::Kubernetes => kubernetes::measure().map(Table::from),
            Self::Apiserver => apiserver::measure(),
        };
        Ok(vec![table?])
    }
}

/// The head of what was promised.
const BUDGETS: &[&str] = &["budget", "measured", ""];

/// One measured number and what it is.
struct Row {
    what: String,
    value: String,
}

impl Row {
    fn new(what: impl Into<String>, value: impl Into<String>) -> Self {
        Self { what: what.into(), value: value.into() }
    }
}

/// Rows under one head.
struct Table {
    head: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

impl From<Vec<Row>> for Table {
    fn from(rows: Vec<Row>) -> Self {
        let rows = rows.into_iter().map(|row| vec![row.what, row.value]).collect();
        Self { head: &["what", "measured"], rows }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut tables: Vec<Table> = Vec::new();
    for subject in Subject::ALL.into_iter().filter(|subject| subject.is_wanted(arguments)) {
        for table in subject.measure(arguments)? {
            match tables.last_mut().filter(|last| last.head == table.head) {
                Some(last) => last.rows.extend(table.rows),
                None => tables.push(table),
            }
        }
    }
    terminal::answer(&match arguments.output {
        Output::Text => tables.iter().map(Table::markdown).collect::<Vec<_>>().join("\n\n"),
        Output::Json => serde_json::to_string_pretty(&tables.iter().map(Table::json).collect::<Vec<_>>())?,
    });
    Ok(())
}

impl Table {
    fn markdown(&self) -> String {
        let length = |row: &Vec<String>| row.first().map_or(0, |what| what.chars().count());
        let width = self.rows.iter().map(length).max().unwrap_or_default();
        let line = |what: &str, rest: String| format!("| {what:<width$} | {rest} |");
        let head = [line(self.head[0], self.head[1..].join(" | ")), "|---".repeat(self.head.len()) + "|"];
        let rows = self.rows.iter().map(|row| line(&row[0], row[1..].join(" | ")));
        head.into_iter().chain(rows).collect::<Vec<_>>().join("\n")
    }

    fn json(&self) -> Value {
        json!({ "head": self.head, "rows": self.rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_markdown() {
        let rows = [Row::new("a", "1 ms"), Row::new("longer", "2 ms")];
        assert_eq!(
            Table::from(Vec::from(rows)).markdown(),
            "| what   | measured |\n|---|---|\n| a      | 1 ms |\n| longer | 2 ms |"
        );
    }

    #[test]
    fn the_table_is_json_for_programs() {
        let table = Table::from(vec![Row::new("a", "1 ms")]);
        assert_eq!(table.json(), json!({"head": ["what", "measured"], "rows": [["a", "1 ms"]]}));
    }
}
