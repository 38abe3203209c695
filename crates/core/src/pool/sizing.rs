//! How many members a pool should hold when that is left to demand: enough for the claims that come while a new member
//! gets ready, and some for chance. Grows at once, shrinks after a calm while.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::views::PoolView;

/// Demand is remembered for about so long: a burst counts at once, and a steady stream evenly.
const BURST: f64 = 10.0;
const STEADY: f64 = 120.0;
/// How long it takes a member to get ready, before any did.
const FIRST_GUESS: f64 = 10.0;
/// The part of the difference by which a new time to get ready moves the average.
const LEARNING: f64 = 0.2;
/// A pool shrinks when so small a part of it would do, for so long.
const SHRINK_BELOW: f64 = 0.8;
const CALM: SignedDuration = SignedDuration::from_mins(5);
/// While a pool could shrink, demand is looked at so often.
const RECHECK: SignedDuration = SignedDuration::from_secs(30);

/// What has been seen of the claims on one pool, and what was made of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand {
    burst: Rate,
    steady: Rate,
    /// Seconds from create to Ready.
    time_to_ready: Option<f64>,
    decided: Option<Decided>,
}

/// Claims a second, the older the less they count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Rate {
    level: f64,
    at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq)]
struct Decided {
    size: usize,
    reason: String,
    /// Since when less would do.
    calm: Option<Timestamp>,
}

/// The size that a pool should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub size: usize,
    /// In words, where demand decides. Changes only with the size.
    pub reason: Option<String>,
    /// When to decide again though nothing happens.
    pub again: Option<Timestamp>,
}

impl Demand {
    /// A claim came, whether it found a member or had to be served without.
    pub fn claimed(&mut self, at: Timestamp) {
        self.burst.add(BURST, at);
        self.steady.add(STEADY, at);
    }

    /// A member became ready, so long after it was created.
    pub fn became_ready(&mut self, after: SignedDuration) {
        let seconds = after.as_secs_f64().max(0.0);
        self.time_to_ready =
            Some(self.time_to_ready.map_or(seconds, |known| known + LEARNING * (seconds - known)));
    }

    /// Decides, and remembers what was decided.
    pub fn size(&mut self, pool: &PoolView, now: Timestamp) -> Wanted {
        let Some(limits) = Limits::of(pool) else {
            self.decided = None;
            return Wanted { size: pool.replicas, reason: None, again: None };
        };
        let need = self.need(now);
        let clamped = limits.clamp(need.members());
        let decided = self.decided.take().or_else(|| Decided::told(pool));
        let standing = decided.and_then(|decided| decided.follow(clamped, limits, now));
        let decided =
            standing.unwrap_or_else(|| Decided { size: clamped, reason: limits.explain(&need), calm: None });
        let again = (decided.size > limits.min).then(|| now + RECHECK);
        let wanted = Wanted { size: decided.size, reason: Some(decided.reason.clone()), again };
        self.decided = Some(decided);
        wanted
    }

    fn need(&self, now: Timestamp) -> Need {
        Need {
            rate: self.burst.now(BURST, now).max(self.steady.now(STEADY, now)),
            time_to_ready: self.time_to_ready.unwrap_or(FIRST_GUESS),
        }
    }
}

impl Decided {
    /// What the status tells of a decision that was made before we came: demand was not seen by us, which does not mean
    /// that there was none.
    fn told(pool: &PoolView) -> Option<Self> {
        let size = usize::try_from(pool.status.desired_replicas?).ok()?;
        Some(Self { size, reason: "demand: as it was when the operator started".to_owned(), calm: None })
    }

    /// The decision as it still holds, or none where another is due.
    fn follow(self, needed: usize, limits: Limits, now: Timestamp) -> Option<Self> {
        if needed > self.size || limits.clamp(self.size) != self.size {
            return None;
        }
        if as_float(needed) > SHRINK_BELOW * as_float(self.size) || needed == self.size {
            return Some(Self { calm: None, ..self });
        }
        let since = self.calm.unwrap_or(now);
        (now.duration_since(since) < CALM).then_some(Self { calm: Some(since), ..self })
    }
}

impl Rate {
    fn now(self, memory: f64, now: Timestamp) -> f64 {
        let Some(at) = self.at else { return 0.0 };
        self.level * (-now.duration_since(at).as_secs_f64().max(0.0) / memory).exp()
    }

    fn add(&mut self, memory: f64, now: Timestamp) {
        let now = self.at.map_or(now, |at| at.max(now));
        *self = Self { level: self.now(memory, now) + 1.0 / memory, at: Some(now) };
    }
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    min: usize,
    max: usize,
}

impl Limits {
    /// None where the size is the user's own number.
    fn of(pool: &PoolView) -> Option<Self> {
        let is_set = pool.min_size.is_some() || pool.max_size.is_some();
        let min = pool.min_size.unwrap_or_default();
        // Status counts in 32 bits.
        let max = pool.max_size.unwrap_or(i32::MAX as usize).max(min);
        is_set.then_some(Self { min, max })
    }

    fn clamp(self, size: usize) -> usize {
        size.clamp(self.min, self.max)
    }

    fn explain(self, need: &Need) -> String {
        match need.members() {
            members if members < self.min => format!("minSize: {need}"),
            members if members > self.max => format!("maxSize: {need}, would take {members}"),
            _ => format!("demand: {need}"),
        }
    }
}

/// What the claims of the time ask for.
#[derive(Clone, Copy, Debug)]
struct Need {
    rate: f64,
    time_to_ready: f64,
}

impl Need {
    /// Claims that come while one member gets ready, and twice the square root of that for chance: of twenty times
    /// that a member is needed, nineteen find one.
    fn members(&self) -> usize {
        let mean = self.rate * self.time_to_ready;
        // Less than one claim in the time of twenty members is no demand.
        if mean < 0.05 { 0 } else { from_float((mean + 2.0 * mean.sqrt()).ceil()) }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.members() == 0 {
            return formatter.write_str("no claims come");
        }
        write!(formatter, "{:.1} claims a second, ready after {:.1} s", self.rate, self.time_to_ready)
    }
}

#[expect(clippy::cast_precision_loss, reason = "no pool has more members than a float counts")]
fn as_float(count: usize) -> f64 {
    count as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what fits")]
fn from_float(count: f64) -> usize {
    count.clamp(0.0, f64::from(i32::MAX)) as usize
}

#[cfg(test)]
mod tests;
