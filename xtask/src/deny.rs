//! Licences, sources and versions of everything we depend on, judged by `cargo-deny` against `deny.toml`.
//! Builds the pinned program once into the cache; what is allowed, and why, stands in `deny.toml`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{terminal, workspace};

const VERSION: &str = "0.20.2";

/// What can be judged from the lock file and the sources it names. `--locked` and not `--offline`: where cargo
/// has them already it asks nobody, and a fresh clone may still fetch them.
const SETTLED: &[&str] = &["--locked", "check", "--hide-inclusion-graph", "bans", "licenses", "sources"];

/// Known vulnerabilities change every day and are no property of a commit, so they are looked up on request.
const FETCH: &[&str] = &["fetch", "db"];
const ADVISORIES: &[&str] = &["--locked", "check", "--disable-fetch", "advisories"];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Also look for known vulnerabilities, in a database that is fetched from outside the package registries
    #[arg(long)]
    advisories: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    settled()?;
    if !arguments.advisories {
        return Ok(());
    }
    let program = program()?;
    terminal::step("fetch the database of known vulnerabilities", || judged(&program, FETCH))?;
    terminal::step("known vulnerabilities", || judged(&program, ADVISORIES))
}

/// What holds for a commit on every day and every machine.
pub(crate) fn settled() -> Result<()> {
    let program = program()?;
    terminal::step("licences, sources and bans", || judged(&program, SETTLED))
}

fn judged(program: &Path, arguments: &[&str]) -> Result<()> {
    ended_well(command(program).args(arguments))
}

fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(workspace::root());
    command
}

/// The pinned cargo-deny, built on first use.
pub(crate) fn program() -> Result<PathBuf> {
    let part = workspace::cache()?.join("parts").join(format!("cargo-deny-{VERSION}"));
    if !part.exists() {
        terminal::step(&format!("building cargo-deny {VERSION}"), || build(&part))?;
    }
    Ok(part.join("bin").join("cargo-deny"))
}

/// Builds beside the part and renames, so that a build cut short never passes for a finished one.
fn build(part: &Path) -> Result<()> {
    let folder = part.parent().expect("a part lies in the folder of parts");
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let unfinished = folder.join(format!("unfinished-cargo-deny-{}", std::process::id()));
    let finished = install(&unfinished).and_then(|()| settle(&unfinished, part));
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).context("removing what the build left behind")?;
    }
    finished
}

/// Another run may have finished first; its part is the same.
fn settle(unfinished: &Path, part: &Path) -> Result<()> {
    fs::remove_dir_all(unfinished.join("target")).context("removing what the build left behind")?;
    let renamed = fs::rename(unfinished, part);
    if renamed.is_err() && part.exists() {
        return Ok(());
    }
    renamed.with_context(|| format!("moving cargo-deny to {}", part.display()))
}

fn install(root: &Path) -> Result<()> {
    let version = format!("={VERSION}");
    let mut command = Command::new("cargo");
    command.args(["install", "cargo-deny", "--locked", "--quiet", "--version", &version, "--root"]).arg(root);
    ended_well(command.env("CARGO_TARGET_DIR", root.join("target")))
}

fn ended_well(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("starting {program}"))?;
    ensure!(status.success(), "{program} failed ({status})");
    Ok(())
}
