//! `cargo xtask bench`: measures, each thing with what it stands beside in the same run. Judges nothing.

mod disk;
mod example;
mod kubernetes;

use anyhow::Result;

use crate::{terminal, workspace};

/// Measures on this machine and prints a table.
///
/// Numbers from a shared machine vary; compare rows of one run, and quote them with the machine and the command.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only these
    #[arg(value_enum)]
    subjects: Vec<Subject>,
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
}

impl Subject {
    const ALL: [Self; 4] = [Self::Disk, Self::Store, Self::Conversion, Self::Kubernetes];

    fn measure(self) -> Result<Vec<Row>> {
        match self {
            Self::Disk => disk::measure(),
            Self::Store => {
                let folder = workspace::cache()?.display().to_string();
                example::measure("asb-apiserver", "store_time", &[&folder])
            }
            Self::Conversion => example::measure("asb-types", "conversion_time", &[]),
            Self::Kubernetes => kubernetes::measure(),
        }
    }
}

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

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let wanted = |subject: &Subject| arguments.subjects.is_empty() || arguments.subjects.contains(subject);
    let mut rows = Vec::new();
    for subject in Subject::ALL.into_iter().filter(wanted) {
        rows.extend(subject.measure()?);
    }
    terminal::answer(&table(&rows));
    Ok(())
}

fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.what.chars().count()).max().unwrap_or_default();
    let lines = rows.iter().map(|row| format!("| {:<width$} | {} |", row.what, row.value));
    let head = [format!("| {:<width$} | measured |", "what"), "|---|---|".to_owned()];
    head.into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_markdown() {
        let rows = [Row::new("a", "1 ms"), Row::new("longer", "2 ms")];
        assert_eq!(table(&rows), "| what   | measured |\n|---|---|\n| a      | 1 ms |\n| longer | 2 ms |");
    }
}
