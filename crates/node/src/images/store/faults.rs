//! The steps of a change to the store, at each of which a test can let it fail or the whole process die.

use std::io;

/// Outside of tests, nothing.
#[derive(Clone, Default)]
pub(super) struct Faults {
    #[cfg(test)]
    plan: std::sync::Arc<planned::Plan>,
}

#[cfg(not(test))]
impl Faults {
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "tests make it fail")]
    pub(super) fn step(&self) -> io::Result<()> {
        Ok(())
    }

    /// Whether the process is to be taken for dead.
    #[expect(clippy::unused_self, reason = "tests make it die")]
    pub(super) fn dead(&self) -> bool {
        false
    }
}

#[cfg(test)]
pub(super) use planned::Ending;

#[cfg(test)]
mod planned {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::{Faults, io};

    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) enum Ending {
        /// The step fails, as on a full disk; what is cleaned up after it is.
        #[default]
        Fails,
        /// Nothing happens any more from the step on.
        Dies,
    }

    #[derive(Default)]
    pub(super) struct Plan {
        taken: AtomicUsize,
        /// Counted from one; nothing at zero.
        fatal: usize,
        ending: Ending,
        dead: AtomicBool,
    }

    impl Faults {
        pub(crate) fn at(fatal: usize, ending: Ending) -> Self {
            Self { plan: Plan { fatal, ending, ..Plan::default() }.into() }
        }

        pub(crate) fn step(&self) -> io::Result<()> {
            let taken = self.plan.taken.fetch_add(1, Ordering::SeqCst) + 1;
            if taken == self.plan.fatal {
                self.plan.dead.store(self.plan.ending == Ending::Dies, Ordering::SeqCst);
                return Err(io::Error::other("a planned failure"));
            }
            if self.dead() { Err(io::Error::other("dead already")) } else { Ok(()) }
        }

        pub(crate) fn dead(&self) -> bool {
            self.plan.dead.load(Ordering::SeqCst)
        }

        pub(crate) fn taken(&self) -> usize {
            self.plan.taken.load(Ordering::SeqCst)
        }
    }
}
