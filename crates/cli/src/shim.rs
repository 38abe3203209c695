//! `asb shim`, the process that holds one Pod, and `asb probe`, the one that tries what the machine can do. Started by
//! `asb` itself, not by people, and so in no help text. Come before everything else: what they do next is sound only while there
//! is one thread.

use std::process::ExitCode;

use asb_node::{doctor, shim};

/// Runs as one of them if that is what was asked for.
pub(crate) fn run(mut words: impl Iterator<Item = String>) -> Option<ExitCode> {
    match words.nth(1)?.as_str() {
        "shim" => Some(shim::main(words)),
        doctor::probe::WORD => Some(doctor::probe::main(words)),
        _ => None,
    }
}
