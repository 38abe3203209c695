//! Builds sandboxd, the program that `asb` carries for Sandboxes: static, small, whatever `asb` itself is built as. A program
//! that was built before can be named by `ASB_SANDBOXD`.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What cargo and clippy tell this script, and what the other build must not hear.
const FOREIGN: [&str; 6] = [
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "CLIPPY_ARGS",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
];

fn main() -> Result<()> {
    println!("cargo::rerun-if-env-changed=ASB_SANDBOXD");
    let carried = PathBuf::from(variable("OUT_DIR")?).join("sandboxd");
    let built = match env::var_os("ASB_SANDBOXD") {
        Some(given) => PathBuf::from(given),
        None => build()?,
    };
    println!("cargo::rerun-if-changed={}", built.display());
    fs::copy(&built, &carried).map_err(|error| format!("cannot copy {}: {error}", built.display()))?;
    Ok(())
}

fn build() -> Result<PathBuf> {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let root = here.join("../..");
    for watched in ["crates/sandboxd/src", "crates/sandboxd/Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    let (target, folder) = (variable("TARGET")?, folder()?);
    let mut cargo = Command::new(variable("CARGO")?);
    cargo.current_dir(&root);
    cargo.args(["build", "--locked", "--quiet", "--package", "asb-sandboxd", "--bin", "sandboxd"]);
    cargo.args(["--profile", "small", "--target", &target, "--target-dir"]).arg(&folder);
    for name in FOREIGN {
        cargo.env_remove(name);
    }
    cargo.env("RUSTFLAGS", "-C target-feature=+crt-static");
    let status = cargo.status().map_err(|error| format!("cannot start cargo: {error}"))?;
    if !status.success() {
        return Err(format!("sandboxd could not be built ({status})").into());
    }
    Ok(folder.join(target).join("small/sandboxd"))
}

/// One for all builds of `asb` in this target directory: a folder that cargo marks.
fn folder() -> Result<PathBuf> {
    let out = PathBuf::from(variable("OUT_DIR")?);
    let marked = out.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    Ok(marked.map_or_else(|| out.join("target"), Path::to_owned).join("sandboxd"))
}

fn variable(name: &str) -> Result<String> {
    env::var(name).map_err(|_| format!("cargo sets {name}").into())
}
