//! How much of everything is measured: as the budgets ask, or just enough to see that all of it works.

/// Numbers of claims, Sandboxes and seconds.
pub(super) struct Scale {
    /// Claims per second, each for `seconds`.
    pub(super) rates: &'static [u32],
    pub(super) seconds: u32,
    pub(super) burst: u32,
    pub(super) rising_first: u32,
    pub(super) rising_seconds: u32,
    /// What is not made in time is not there to be claimed: this and the seconds bound the rate.
    pub(super) rising_pool: u32,
    pub(super) fill: u32,
    pub(super) idle: u32,
    pub(super) idle_seconds: u64,
    pub(super) touched: u32,
    pub(super) writes_rate: u32,
}

pub(super) const FULL: Scale = Scale {
    rates: &[2, 10, 25, 40],
    seconds: 10,
    burst: 300,
    rising_first: 20,
    rising_seconds: 6,
    rising_pool: 900,
    fill: 1_000,
    idle: 10_000,
    idle_seconds: 30,
    touched: 500,
    writes_rate: 10,
};

pub(super) const QUICK: Scale = Scale {
    rates: &[2, 10, 25],
    seconds: 3,
    burst: 40,
    rising_first: 10,
    rising_seconds: 2,
    rising_pool: 60,
    fill: 60,
    idle: 120,
    idle_seconds: 3,
    touched: 40,
    writes_rate: 10,
};
