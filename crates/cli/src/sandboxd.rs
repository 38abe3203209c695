//! `asb sandboxd`: the program inside a sandbox, which this one carries.

use std::path::PathBuf;

use anyhow::{Context, Result};
use asb_node::carried::Carried;

use crate::output;

/// As it is on disk.
pub(crate) const PROGRAM: Carried = Carried(include_bytes!(concat!(env!("OUT_DIR"), "/sandboxd")));

/// The program inside a sandbox, which asb carries.
///
/// Through it SDKs run commands and move files, whatever the image is. Sandboxes whose spec.runtime asks for it get it by
/// themselves.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Install(Install),
}

/// Write the program into a directory, for the containers that mount it
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb sandboxd install /shared")]
struct Install {
    /// Where it goes, as DIR/sandboxd
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Command::Install(Install { directory }) = &arguments.command;
    let path = PROGRAM.lay_down(directory);
    let path = path.with_context(|| format!("cannot write into {}", directory.display()))?;
    output::print(&format!("{}\n", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It has to run where there is nothing else.
    #[test]
    fn what_is_carried_is_a_small_program_that_needs_no_library() {
        assert_eq!(&PROGRAM.0[..4], b"\x7fELF");
        assert!(PROGRAM.0.len() < 5 << 20, "{} bytes", PROGRAM.0.len());
        let folder = tempfile::tempdir().unwrap();
        let path = PROGRAM.lay_down(folder.path()).unwrap();
        let said = std::process::Command::new(path).arg("version").env_clear().output().unwrap();
        assert!(String::from_utf8_lossy(&said.stdout).starts_with("sandboxd "));
        assert!(segments().all(|kind| kind != INTERPRETER), "it asks for a loader");
    }

    const INTERPRETER: u32 = 3;

    /// The kinds of the segments of an ELF file of 64 bits.
    fn segments() -> impl Iterator<Item = u32> {
        let number = |at: usize, size: usize| {
            let bytes = PROGRAM.0[at..at + size].iter().rev();
            bytes.fold(0, |number, byte| number << 8 | usize::from(*byte))
        };
        let (first, size, count) = (number(0x20, 8), number(0x36, 2), number(0x38, 2));
        (0..count).map(move |index| u32::try_from(number(first + index * size, 4)).unwrap())
    }
}
