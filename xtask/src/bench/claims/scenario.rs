//! What is measured: six scenarios, by letter, each on a ring of its own.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(super) enum Scenario {
    /// Claims at several rates
    #[value(name = "a")]
    Rates,
    /// A burst as large as its pool
    #[value(name = "b")]
    Burst,
    /// A rate that rises until p99 is over a second
    #[value(name = "c")]
    Rising,
    /// A pool that is filled
    #[value(name = "d")]
    Fill,
    /// Sandboxes to which nothing happens
    #[value(name = "e")]
    Idle,
    /// What one claim costs the API server
    #[value(name = "f")]
    Writes,
}

impl Scenario {
    pub(super) const ALL: [Self; 6] =
        [Self::Rates, Self::Burst, Self::Rising, Self::Fill, Self::Idle, Self::Writes];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rates => "a: rates",
            Self::Burst => "b: burst",
            Self::Rising => "c: rising rate",
            Self::Fill => "d: fill",
            Self::Idle => "e: idle",
            Self::Writes => "f: writes",
        }
    }
}
