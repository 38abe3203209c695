//! What every controller works with.

use std::sync::Arc;

use asb_core::object::Key;
use asb_core::report::Failure as Told;
use asb_core::write::{Target, Write};
use jiff::Timestamp;

use crate::caches::Caches;
use crate::clock::{Clock, Dice};
use crate::events::Recorder;
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::queue::Next;
use crate::settings::Settings;
use crate::spans;
use crate::traffic::Class;
use crate::world::Held;
use crate::writer::{Failure, Writer};

pub(crate) struct Context {
    pub(crate) caches: Arc<Caches>,
    pub(crate) writer: Writer,
    pub(crate) recorder: Recorder,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) dice: Arc<Dice>,
    pub(crate) settings: Settings,
    pub(crate) metrics: Arc<Metrics>,
}

/// Why a plan was not carried out to its end.
#[derive(Debug)]
pub(crate) enum Stumble {
    /// Something is not as it was when the plan was made. The caches know by now; a new plan takes it into account.
    Outdated,
    /// It went wrong, and the status is to say so.
    Failed(Told),
    /// No answer came: what became of this object is not known until it is read.
    Unanswered(Target, Told),
}

impl Context {
    /// What controllers remember.
    pub(crate) fn memory(&self) -> &Memory {
        &self.caches.memory
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Carries out writes in their order, up to the first that does not work.
    pub(crate) async fn carry_out<'a>(
        &self,
        writes: impl IntoIterator<Item = &'a Write>,
        class: Class,
    ) -> Result<(), Stumble> {
        for write in writes {
            let answer = self.writer.write(write, class).await;
            answer.map_err(|failure| Stumble::over(write, failure).noted())?;
        }
        Ok(())
    }

    /// Lets an object that cannot be understood say so. Only a change of it helps.
    pub(crate) async fn tell_unreadable<V: Held>(&self, key: &Key, class: Class) -> Next {
        let Some(unreadable) = self.caches.unreadable::<V>(key) else { return Next::Settled };
        match self.carry_out(&unreadable.status(V::KIND, self.now()), class).await {
            Ok(()) => Next::Settled,
            Err(_) => Next::Retry,
        }
    }

    /// When to look again, given the time that a plan named.
    pub(crate) fn next(&self, look_again: Option<Timestamp>) -> Next {
        look_again.map_or(Next::Settled, |time| {
            Next::After(time.duration_since(self.now()).try_into().unwrap_or_default())
        })
    }
}

impl Stumble {
    fn over(write: &Write, failure: Failure) -> Self {
        match failure {
            Failure::Conflict(_) | Failure::Exists(_) | Failure::Missing(_) => Self::Outdated,
            Failure::Refused(problem) => Self::Failed(Told::Permanent(problem)),
            Failure::Unanswered(_) => {
                Self::Unanswered(write.target().clone(), Told::Transient(failure.to_string()))
            }
            other => Self::Failed(Told::Transient(other.to_string())),
        }
    }

    /// The same, noted on the span of what is being done.
    fn noted(self) -> Self {
        if let Self::Failed(told) | Self::Unanswered(_, told) = &self {
            let (Told::Transient(problem) | Told::Permanent(problem)) = told;
            spans::failed(problem);
        }
        self
    }

    /// Whether it may work without anything being changed.
    pub(crate) fn may_pass(&self) -> bool {
        !matches!(self, Self::Failed(Told::Permanent(_)))
    }

    /// What the status is to say, if anything.
    pub(crate) fn told(self) -> Option<Told> {
        match self {
            Self::Outdated => None,
            Self::Failed(told) | Self::Unanswered(_, told) => Some(told),
        }
    }
}
