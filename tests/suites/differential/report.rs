//! How an area fared, for people to read.

use std::io::{Write, stderr};

use anyhow::{Result, bail};

pub(crate) struct Report {
    /// Whether the cases were recorded rather than compared.
    pub recording: bool,
    total: usize,
    failures: Vec<String>,
}

impl Report {
    pub(crate) fn new(recording: bool) -> Self {
        Self { recording, total: 0, failures: Vec::new() }
    }

    /// One case, with what is wrong about it.
    pub(crate) fn add(&mut self, id: &str, complaints: Vec<String>) {
        self.total += 1;
        if !complaints.is_empty() {
            self.failures.push(format!("{id}\n{}", complaints.join("\n")));
        }
    }

    pub(crate) fn conclude(self, area: &str) -> Result<()> {
        let (total, agree) = (self.total, self.total - self.failures.len());
        // Past the capture of test output: the numbers are for those who pass, too.
        let done = if self.recording { "are recorded" } else { "agree" };
        writeln!(stderr(), "{area}: {agree} of {total} cases {done}")?;
        if self.failures.is_empty() {
            return Ok(());
        }
        bail!("{} of {total} cases of {area} failed:\n\n{}", self.failures.len(), self.failures.join("\n\n"))
    }
}
