//! Which schedules are run, and how a failing one is told so that it can be repeated.

use std::env;
use std::fmt;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::planted::Planted;
use crate::schedule;

/// How many schedules are run where nobody says how many: some seconds' worth.
const FEW: u64 = 300;
/// However many cases randomised tests are to have, these take minutes.
const MOST: u64 = 20_000;

#[derive(Clone, Debug)]
pub(crate) struct Seeds(Range<u64>);

impl Seeds {
    pub(crate) fn up_to(end: u64) -> Self {
        Self(0..end)
    }

    /// `ASB_SEED` for one, `ASB_SCHEDULES` for so many, or as many as other randomised tests deserve.
    pub(crate) fn asked() -> Self {
        if let Some(seed) = number("ASB_SEED") {
            return Self(seed..seed + 1);
        }
        let usual = number("PROPTEST_CASES").map_or(FEW, |cases| cases.saturating_mul(2).min(MOST));
        Self::up_to(number("ASB_SCHEDULES").unwrap_or(usual))
    }
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok()?.parse().ok()
}

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) seed: u64,
    pub(crate) violation: String,
    pub(crate) transcript: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, violation, transcript } = self;
        write!(
            formatter,
            "{transcript}\nseed {seed}: {violation}\nto repeat it: ASB_SEED={seed} cargo test --package asb-operator \
             --test simulation schedules"
        )
    }
}

/// Runs schedules on all processors, and tells of the first that fails.
pub(crate) fn first_failure(seeds: Seeds, planted: Planted) -> Option<Failure> {
    let next = AtomicU64::new(seeds.0.start);
    let found: Mutex<Option<Failure>> = Mutex::new(None);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.0.end || found.lock().expect("nobody fails while holding it").is_some() {
                return;
            }
            let outcome = schedule::run(seed, planted);
            if let Some(violation) = outcome.violation {
                let failure = Failure { seed, violation, transcript: outcome.transcript };
                let mut found = found.lock().expect("nobody fails while holding it");
                if found.as_ref().is_none_or(|known| seed < known.seed) {
                    *found = Some(failure);
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    found.into_inner().expect("nobody fails while holding it")
}
