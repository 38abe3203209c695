//! `asb` as people type it, on a cluster with a real node: commands that run, are talked to and end. Needs `cargo xtask kube
//! up --node`.

mod copies;
mod interrupts;
mod libraries;
mod ports;
mod runs;
mod stage;
mod suspensions;
mod talks;
mod terminal;
mod terminals;
