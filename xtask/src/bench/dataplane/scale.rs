//! How much of everything is measured: enough for numbers that mean something, or just enough to see that all of it works.

pub(super) struct Scale {
    pub(super) rounds: usize,
    /// Milliseconds of each measurement: before it counts, and while it does.
    pub(super) warm_up: u64,
    pub(super) measured: u64,
    /// Mebibytes of a body that is carried by the proxies, and of a file of a sandbox.
    pub(super) body: u64,
    pub(super) file: u32,
    /// Commands through the API, one after the other.
    pub(super) commands: usize,
    /// Idle sandboxes.
    pub(super) crowd: usize,
}

pub(super) const FULL: Scale =
    Scale { rounds: 3, warm_up: 500, measured: 3_000, body: 64, file: 256, commands: 200, crowd: 100 };

pub(super) const QUICK: Scale =
    Scale { rounds: 1, warm_up: 50, measured: 300, body: 8, file: 16, commands: 10, crowd: 4 };
