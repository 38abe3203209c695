//! Containers for real, in namespaces, on this machine. Needs root and a kernel that maps ids of overlay layers.
//!
//! The program is three things: the tests; the shim that they start, by executing it again as `asb` does; and, mounted into
//! containers, whatever does there what no shell can.

mod fixture;
mod hostile;
mod isolation;
mod lifecycle;
mod limits;
mod oci;
mod recovery;
mod sessions;
mod streams;
mod sys;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some("shim") => return asb_node::shim::main(words),
        Some("payload") => return sys::main(words),
        _ => {}
    }
    // Without root there is nothing to be seen, and they are shown as ignored.
    let ignored = !rustix::process::geteuid().is_root();
    let trials =
        trials().into_iter().map(|trial| if ignored { trial.with_ignored_flag(true) } else { trial });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn trials() -> Vec<Trial> {
    [
        hostile::trials(),
        isolation::trials(),
        lifecycle::trials(),
        limits::trials(),
        oci::trials(),
        recovery::trials(),
        sessions::trials(),
        streams::trials(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
