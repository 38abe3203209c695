//! Builds `asb` so that it needs nothing of the system it runs on but the kernel.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Profile;
use crate::{terminal, workspace};

pub(super) fn build(profile: Profile) -> Result<PathBuf> {
    let (name, folder) = match profile {
        Profile::Release => ("release", "release"),
        Profile::Dev => ("dev", "debug"),
    };
    let triple = triple();
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(workspace::root())
        .args(["build", "--locked", "--package", "asb", "--profile", name, "--target", &triple])
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_ENCODED_RUSTFLAGS", flags(profile, &workspace::root(), &home()?).join("\x1f"));
    terminal::watched(&mut cargo)?;
    let program = target().join(triple).join(folder).join("asb");
    ensure!(program.is_file(), "cargo made no {}", program.display());
    Ok(program)
}

/// Where cargo puts what it builds.
pub(super) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace::root().join("target"), PathBuf::from)
}

/// Named even though it is this machine's own: only then do the flags leave macros and build scripts alone, which cannot be
/// static.
fn triple() -> String {
    format!("{}-unknown-linux-gnu", env::consts::ARCH)
}

/// The paths of this machine do not get into a program that is for others. One for tests may have them: with the checkout's path
/// among the flags, every checkout would build everything anew.
fn flags(profile: Profile, root: &Path, home: &Path) -> Vec<String> {
    let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned(), "-Cstrip=symbols".to_owned()];
    if profile == Profile::Release {
        flags.push(format!("--remap-path-prefix={}=/agent-sandbox", root.display()));
        flags.push(format!("--remap-path-prefix={}=/cargo", home.display()));
    }
    flags
}

/// Cargo's own folder, where the sources of others are.
fn home() -> Result<PathBuf> {
    let given = env::var_os("CARGO_HOME").map(PathBuf::from);
    let usual = || env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    given.or_else(usual).context("neither CARGO_HOME nor HOME is set")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_of_this_machine_is_kept_in_what_is_for_others() {
        let flags = |profile| flags(profile, Path::new("/somewhere/checkout"), Path::new("/someone/.cargo"));
        assert_eq!(flags(Profile::Dev), ["-Ctarget-feature=+crt-static", "-Cstrip=symbols"]);
        let flags = flags(Profile::Release).join(" ");
        assert!(flags.contains("--remap-path-prefix=/somewhere/checkout=/agent-sandbox"));
        assert!(flags.contains("--remap-path-prefix=/someone/.cargo=/cargo"));
    }
}
