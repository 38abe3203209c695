//! Nothing lost, nothing leaked: `asb up` with its node, killed at every moment, started again, and short of everything that a
//! machine can run out of. What is left is counted by looking at the machine, not by asking the program. Needs root.

mod account;
mod census;
mod chance;
mod clocks;
mod daemon;
mod faults;
mod fence;
mod findings;
mod home;
mod kills;
mod pulls;
mod reach;
mod reboot;
mod registry;
mod restarts;
mod sandbox;
mod shims;
mod users;
mod words;
