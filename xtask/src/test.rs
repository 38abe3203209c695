//! `cargo xtask test`: every suite there is, from the cheapest to the dearest, with the time of each.
//! What a suite needs it obtains; what cannot be obtained is said loudly, and in CI it is a failure.

mod embedded;
mod leftovers;
mod monitoring;
mod own_node;
mod own_package;
mod residue;
mod suite;
mod verdict;

use std::env;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::terminal;
pub(crate) use embedded::{Embedded, Pods};
use suite::Suite;
pub(crate) use suite::{NAMED, THREADS, part};
use verdict::{Outcome, Verdict};

/// Runs every suite, from the cheapest to the dearest.
///
/// The first run builds a real Kubernetes from its Go modules, which takes minutes; later runs find it in the cache
/// (ASB_CACHE, or agent-sandbox in the user's cache folder). A part that cannot be obtained leaves its suite NOT RUN,
/// which with CI=true is a failure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only these suites
    #[arg(value_enum)]
    suites: Vec<Suite>,

    /// Give randomised tests a hundred times their usual number of cases
    #[arg(long)]
    soak: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let effort = if arguments.soak { Effort::Soak } else { Effort::Usual };
    let outcomes: Vec<Outcome> =
        chosen(&arguments.suites).into_iter().map(|suite| attempt(suite, effort)).collect();
    terminal::answer(&verdict::table(&outcomes));
    let strict = env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    let bad: Vec<_> =
        outcomes.iter().filter(|outcome| outcome.verdict.is_bad(strict)).map(|it| it.suite.name()).collect();
    let missing = outcomes.iter().filter(|outcome| matches!(outcome.verdict, Verdict::NotRun(_))).count();
    if missing > 0 {
        terminal::note(&format!(
            "{missing} of {} suites could NOT RUN here, and prove nothing",
            outcomes.len()
        ));
    }
    if !bad.is_empty() {
        bail!("not passed: {}", bad.join(", "));
    }
    Ok(())
}

/// How long randomised tests go on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    Usual,
    Soak,
}

impl Effort {
    fn cases(self) -> &'static str {
        match self {
            Self::Usual => "1000",
            Self::Soak => "100000",
        }
    }
}

fn chosen(asked: &[Suite]) -> Vec<Suite> {
    Suite::ALL.into_iter().filter(|suite| asked.is_empty() || asked.contains(suite)).collect()
}

fn attempt(suite: Suite, effort: Effort) -> Outcome {
    let start = Instant::now();
    let verdict = match suite.prepare() {
        Err(obstacle) => Verdict::NotRun(format!("{obstacle:#}")),
        Ok(()) => match terminal::step(&format!("suite {}", suite.name()), || suite.run(effort)) {
            Ok(()) => Verdict::Passed,
            Err(error) => Verdict::Failed(format!("{error:#}")),
        },
    };
    Outcome { suite, verdict, took: start.elapsed() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_run_in_their_order_however_they_were_asked_for() {
        assert_eq!(chosen(&[Suite::Unit, Suite::Format]), [Suite::Format, Suite::Unit]);
        assert_eq!(chosen(&[]), Suite::ALL);
    }
}
