//! The clients that `asb up` is tried with: kubectl, programs on client-go and on the Go SDK, and Python with its client library,
//! with SDKs, and with servers that make Sandboxes. What is tried with them is in `tests/suites`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::fingerprint;
use crate::{terminal, workspace};

const GO_CLIENT: &[&str] =
    &["apply.go", "dynamic.go", "informer.go", "leadership.go", "main.go", "streams.go", "typed.go"];

const GO_SDK: &[&str] = &["executor.go", "gateway.go", "main.go", "surface.go", "use.go"];

/// Where the suite finds each, by the variable that says so.
pub(crate) fn obtain() -> Result<[(&'static str, PathBuf); 3]> {
    let kubectl = super::obtain(&["kubectl"])?.remove("kubectl").context("kubectl was asked for")?;
    Ok([("ASB_TEST_KUBECTL", kubectl), ("ASB_TEST_GO_CLIENT", go_client()?), ("ASB_TEST_PYTHON", python()?)])
}

/// The program in `tests/clients/go`.
fn go_client() -> Result<PathBuf> {
    go_program("go-client", "go", GO_CLIENT)
}

/// The program in `tests/clients/go-sdk`, which has the Go SDK that people use in it.
pub(crate) fn go_sdk() -> Result<PathBuf> {
    go_program("go-sdk", "go-sdk", GO_SDK)
}

/// A program in `tests/clients`, built anew when it changes.
fn go_program(name: &str, folder: &str, sources: &[&str]) -> Result<PathBuf> {
    let source = workspace::root().join("tests/clients").join(folder);
    let files = [&["go.mod", "go.sum"][..], sources].concat();
    let program = provide(name, &source, &files, |folder| {
        let mut go = Command::new("go");
        go.current_dir(&source).env("CGO_ENABLED", "0");
        go.args(["build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-o"])
            .arg(folder.join(name))
            .arg(".");
        terminal::watched(&mut go)
            .context("building needs Go 1.26 or newer on PATH and the Go module registry")
    })?;
    Ok(program.join(name))
}

/// A Python of its own with the libraries in `tests/clients/python/requirements.txt`.
pub(crate) fn python() -> Result<PathBuf> {
    python_with("python", "requirements.txt")
}

/// A Python of its own with the SDK that people use.
pub(crate) fn sdk() -> Result<PathBuf> {
    python_with("python-sdk", "sdk-requirements.txt")
}

/// A Python of its own with the last SDK that speaks v1alpha1.
pub(crate) fn sdk_0_4() -> Result<PathBuf> {
    python_with("python-sdk-0.4", "sdk-0.4-requirements.txt")
}

/// A Python of its own with OpenSandbox' server.
pub(crate) fn opensandbox() -> Result<PathBuf> {
    python_with("python-opensandbox", "opensandbox-requirements.txt")
}

/// A Python of its own with what our own package stands on; the package comes from the checkout, as it is.
pub(crate) fn own_sdk() -> Result<PathBuf> {
    python_with("python-own-sdk", "own-requirements.txt")
}

fn python_with(name: &str, requirements: &str) -> Result<PathBuf> {
    let source = workspace::root().join("tests/clients/python");
    let environment = provide(name, &source, &[requirements], |folder| {
        let mut venv = Command::new("python3");
        terminal::watched(venv.args(["-m", "venv"]).arg(folder))
            .context("the suite needs python3 with its venv module on PATH")?;
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
        terminal::watched(pip.arg(source.join(requirements)))
            .context("the suite needs the Python package index")
    })?;
    Ok(environment.join("bin/python"))
}

/// A folder of the cache for what `files` say, made by `make` where no earlier run did. It is made in its place, since
/// a Python environment cannot be moved, and a mark says that it is whole.
fn provide(
    name: &str,
    source: &Path,
    files: &[&str],
    make: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let text = |file: &&str| fs::read_to_string(source.join(file)).with_context(|| format!("read {file}"));
    let texts = files.iter().map(text).collect::<Result<Vec<_>>>()?;
    let name = format!("{name}-{}", fingerprint(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
    let folder = super::folder()?.join(&name);
    let whole = folder.join("whole");
    let _lock = super::lock(&name)?;
    if !whole.is_file() {
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        terminal::step(&format!("make {name} (once)"), || make(&folder))?;
        fs::write(&whole, "").with_context(|| format!("mark {} as whole", folder.display()))?;
    }
    Ok(folder)
}
