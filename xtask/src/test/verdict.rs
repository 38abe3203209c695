//! How a suite ended, and the table of it that closes a run.

use std::time::Duration;

use super::suite::Suite;
use crate::terminal;

pub(super) struct Outcome {
    pub suite: Suite,
    pub verdict: Verdict,
    pub took: Duration,
}

pub(super) enum Verdict {
    Passed,
    Failed(String),
    /// What it needs could not be had here.
    NotRun(String),
}

impl Verdict {
    /// A suite that could not run proves nothing, and where `strict` that is not good enough.
    pub(super) fn is_bad(&self, strict: bool) -> bool {
        match self {
            Self::Passed => false,
            Self::Failed(_) => true,
            Self::NotRun(_) => strict,
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "FAILED",
            Self::NotRun(_) => "NOT RUN",
        }
    }

    fn reason(&self) -> &str {
        match self {
            Self::Passed => "",
            Self::Failed(reason) | Self::NotRun(reason) => reason,
        }
    }
}

pub(super) fn table(outcomes: &[Outcome]) -> String {
    outcomes.iter().map(row).collect::<Vec<_>>().join("\n")
}

fn row(outcome: &Outcome) -> String {
    let took = terminal::seconds(outcome.took);
    let (name, word, reason) = (outcome.suite.name(), outcome.verdict.word(), outcome.verdict.reason());
    format!("{name:<14}{word:<9}{took:>9}  {reason}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_that_could_not_run_is_bad_only_where_that_is_not_allowed() {
        let verdict = Verdict::NotRun("no go on PATH".to_owned());
        assert!(verdict.is_bad(true) && !verdict.is_bad(false));
        assert!(Verdict::Failed(String::new()).is_bad(false));
        assert!(!Verdict::Passed.is_bad(true));
    }

    #[test]
    fn the_table_says_what_took_how_long_and_why_something_is_missing() {
        let outcomes = [
            Outcome { suite: Suite::Unit, verdict: Verdict::Passed, took: Duration::from_millis(1234) },
            Outcome {
                suite: Suite::Node,
                verdict: Verdict::NotRun("not root".to_owned()),
                took: Duration::ZERO,
            },
        ];
        assert_eq!(
            table(&outcomes),
            "unit          passed       1.2 s\nnode          NOT RUN      0.0 s  not root"
        );
    }
}
