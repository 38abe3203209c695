//! One remark of `tidy`: where, what is wrong, and what to do about it.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// From the root of the checkout.
    path: String,
    /// From 1, which also stands for the file as a whole.
    line: usize,
    wrong: String,
    remedy: String,
    weight: Weight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// Must be mended before the change is taken in.
    Fault,
    /// Worth a thought; fails nothing.
    Question,
}

impl Finding {
    pub(crate) fn fault(
        path: &str,
        line: usize,
        wrong: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (wrong, remedy) = (wrong.into(), remedy.into());
        Self { path: path.to_owned(), line, wrong, remedy, weight: Weight::Fault }
    }

    pub(crate) fn question(
        path: &str,
        line: usize,
        wrong: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { weight: Weight::Question, ..Self::fault(path, line, wrong, remedy) }
    }

    pub(crate) fn is_fault(&self) -> bool {
        self.weight == Weight::Fault
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}; {}", self.path, self.line, self.wrong, self.remedy)
    }
}

/// The findings as a person reads them, for tests to compare.
#[cfg(test)]
pub(crate) fn lines(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_as_place_wrong_and_remedy() {
        let finding = Finding::fault("a.rs", 3, "`dbg!` is left over", "delete it");
        assert_eq!(finding.to_string(), "a.rs:3: `dbg!` is left over; delete it");
    }

    #[test]
    fn findings_sort_by_place() {
        let at = |path, line| Finding::fault(path, line, "wrong", "mend");
        let mut findings = vec![at("b.rs", 1), at("a.rs", 10), at("a.rs", 9)];
        findings.sort();
        assert_eq!(findings, [at("a.rs", 9), at("a.rs", 10), at("b.rs", 1)]);
    }
}
