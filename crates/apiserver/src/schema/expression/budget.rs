//! How much an evaluation may cost. Kubernetes estimates the cost of a rule when its definition is created and counts
//! it when it runs; here the rounds of loops, the time and the size of what is built are bounded when it runs.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Rounds of loops in one evaluation.
const MOST_ROUNDS: u64 = 1_000_000;
/// For all the rules of an object.
const MOST_TIME: Duration = Duration::from_secs(1);
/// Of one value that an expression builds: bytes of text, or items.
pub(super) const MOST_SIZE: usize = 4 << 20;

thread_local! {
    // An evaluation stays on its thread, and the functions of the language are shared by all of them.
    static SPENDING: Cell<Spending> = const { Cell::new(Spending { rounds: 0, until: None, is_spent: false }) };
}

#[derive(Clone, Copy)]
struct Spending {
    rounds: u64,
    until: Option<Instant>,
    is_spent: bool,
}

/// The time that the rules of one object have.
#[derive(Clone, Copy)]
pub(super) struct Budget {
    until: Instant,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { until: Instant::now() + MOST_TIME }
    }

    /// Runs one evaluation; none where it used up what it had.
    pub(super) fn spend<T>(self, evaluation: impl FnOnce() -> T) -> Option<T> {
        SPENDING.set(Spending { rounds: 0, until: Some(self.until), is_spent: false });
        let result = evaluation();
        let is_spent = SPENDING.get().is_spent || Instant::now() >= self.until;
        (!is_spent).then_some(result)
    }
}

/// Whether there is budget for one more round.
pub(super) fn tick() -> bool {
    let mut spending = SPENDING.get();
    spending.rounds += 1;
    let late = spending.until.is_some_and(|until| Instant::now() >= until);
    spending.is_spent |= late || spending.rounds > MOST_ROUNDS;
    SPENDING.set(spending);
    !spending.is_spent
}

/// Whether a value of this size may be built.
pub(super) fn allows(size: usize) -> bool {
    let mut spending = SPENDING.get();
    spending.is_spent |= size > MOST_SIZE;
    SPENDING.set(spending);
    !spending.is_spent
}

/// The interpreter has corners that panic; they must not take the server down.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, ()> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| ())
}
