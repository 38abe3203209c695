//! `cargo xtask image`: the operator as a container image, without a container engine: one static program and nothing
//! else. The archive is what `ctr images import`, `docker load` and `skopeo copy oci-archive:` take.

mod elf;
mod facts;
mod layout;
mod program;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use facts::{Facts, name};
use layout::File;

use crate::{terminal, workspace};

/// Builds the image of the operator: one static program, in an archive that container engines load.
///
/// The same commit gives the same bytes, wherever and whenever it is built with the same Rust. Takes minutes; the program is
/// built for release.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Where to write the archive [default: agent-sandbox-controller.tar in the folder of built files]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// How the program is built
    #[arg(long, value_enum, default_value_t)]
    profile: Profile,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    #[default]
    Release,
    /// For tests: quicker to build, slower to run
    Dev,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let output =
        arguments.output.clone().unwrap_or_else(|| program::target().join("agent-sandbox-controller.tar"));
    let digest = build(arguments.profile, &output)?;
    terminal::note(&format!("{} ({digest}) is in:", name()));
    terminal::answer(&output.display().to_string());
    Ok(())
}

/// Writes the archive, and says the digest of what is in it.
pub(crate) fn build(profile: Profile, output: &Path) -> Result<String> {
    let program = terminal::step("build a static asb", || program::build(profile))?;
    terminal::step("write the image", || {
        let content = fs::read(&program).with_context(|| format!("read {}", program.display()))?;
        ensure!(elf::is_static(&content), "{} needs libraries that the image has not", program.display());
        let root = workspace::root();
        let mut files = vec![File { place: "asb", mode: 0o755, content }];
        for place in ["LICENSE", "NOTICE"] {
            let content = fs::read(root.join(place)).with_context(|| format!("read {place}"))?;
            files.push(File { place, mode: 0o644, content });
        }
        let image = layout::image(&Facts::of(&root)?, &files)?;
        fs::write(output, image.archive()?).with_context(|| format!("write {}", output.display()))?;
        Ok(image.digest)
    })
}
