//! Attacks from inside: what an agent that was taken over would try to leave its sandbox, to see its neighbours or to bring
//! the machine down. Each is made in real Pods on the node of `asb up` and must fail; many are made once more where the layer
//! that stops them is missing, and must succeed there, so that nobody mistakes a blunt attack for a strong wall. Needs root.
//!
//! A case is a row: see `case`. Those under `allowed::` need a node that allows everything.

mod account;
mod api;
mod bombs;
mod case;
mod cgroups;
mod copies;
mod devices;
mod document;
mod ground;
mod kernel_files;
mod neighbours;
mod network;
mod processes;
mod rig;
mod rights;
mod system_calls;
mod volumes;
mod witness;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use crate::case::Case;
use crate::ground::Setting;

/// The cases by the file that they are in.
const SUBJECTS: &[(&str, &[Case])] = &[
    ("api", api::CASES),
    ("bombs", bombs::CASES),
    ("cgroups", cgroups::CASES),
    ("copies", copies::CASES),
    ("devices", devices::CASES),
    ("kernel_files", kernel_files::CASES),
    ("neighbours", neighbours::CASES),
    ("network", network::CASES),
    ("processes", processes::CASES),
    ("rights", rights::CASES),
    ("system_calls", system_calls::CASES),
    ("volumes", volumes::CASES),
];

fn main() -> ExitCode {
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials());
    account::tell();
    conclusion.exit_code()
}

fn trials() -> Vec<Trial> {
    let cases = || SUBJECTS.iter().flat_map(|(subject, cases)| cases.iter().map(move |case| (subject, case)));
    let confined =
        cases().map(|(subject, case)| trial(format!("{subject}::{}", case.name), case, Setting::Confined));
    let lifted = cases()
        .filter(|(_, case)| case.without.is_some())
        .map(|(subject, case)| trial(format!("allowed::{subject}::{}", case.name), case, Setting::Lifted));
    document::trials().into_iter().chain(confined).chain(lifted).collect()
}

fn trial(name: String, case: &'static Case, setting: Setting) -> Trial {
    Trial::test(name, move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(ground::fight(case, setting)).map_err(|error| Failed::from(format!("{error:#}")))
    })
}
