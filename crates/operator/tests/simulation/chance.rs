//! What chance decides in a schedule: everything follows from the seed.

use std::time::Duration;

use asb_operator::Dice;

#[derive(Debug)]
pub(crate) struct Chance(Dice);

impl Chance {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(Dice::seeded(seed))
    }

    /// A number for somebody else to start from.
    pub(crate) fn seed(&mut self) -> u64 {
        self.0.roll()
    }

    /// A number less than `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0.roll() % end
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, things: &[T]) -> T {
        let place = self.below(things.len().try_into().expect("a short list"));
        things[usize::try_from(place).expect("a place in a short list")]
    }

    /// Some milliseconds less than `end`.
    pub(crate) fn millis(&mut self, end: u64) -> Duration {
        Duration::from_millis(self.below(end))
    }
}
