//! The program inside a sandbox. All of it is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    asb_sandboxd::program::run()
}
