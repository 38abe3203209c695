//! How an area fared, for people to read.

use std::io::{Write, stderr};

use anyhow::{Result, bail};

#[derive(Default)]
pub(crate) struct Report {
    total: usize,
    failures: Vec<String>,
}

impl Report {
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
        writeln!(stderr(), "{area}: {agree} of {total} cases agree")?;
        if self.failures.is_empty() {
            return Ok(());
        }
        bail!("{} of {total} cases of {area} differ:\n\n{}", self.failures.len(), self.failures.join("\n\n"))
    }
}
