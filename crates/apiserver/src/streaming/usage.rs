//! What Pods and the machine use, as far as whoever runs them measures it.

use std::time::Duration;

use super::pods::Pod;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Billionths of a processor.
    pub cpu_nano: u64,
    pub memory_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodUsage {
    pub pod: Pod,
    /// Of the time over which the use of processors was measured.
    pub window: Duration,
    /// Containers that run, by name.
    pub containers: Vec<(String, Amounts)>,
}

/// What the machine that runs the Pods uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeUsage {
    pub window: Duration,
    pub amounts: Amounts,
}
