//! Our own Python package, from the checkout: every public method of both classes, and on one machine its examples, a document's
//! snippet as it is printed, and its types, style and unit tests.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

use crate::stage::{BUSYBOX, Environment, Home, KEPT, Stage, given, home, run};

const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../sdk/python");
const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/python");

/// Python with what the package stands on, and the package as it is written now.
pub(crate) fn python() -> Result<Command> {
    let mut command = Command::new(given("ASB_TEST_OWN_SDK")?);
    command.env("PYTHONPATH", Path::new(PACKAGE).join("src")).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("KUBECONFIG", given("KUBECONFIG")?).current_dir(PACKAGE);
    Ok(command)
}

/// What sandboxes are made of, and what they are of that name no image: only a machine has such a thing.
pub(crate) fn images() -> Environment {
    let own = (home() == Home::Machine).then(|| ("OWN_IMAGE", "asb.local/host".to_owned()));
    [("IMAGE", BUSYBOX.to_owned())].into_iter().chain(own).collect()
}

/// The public methods that a script of ours called.
pub(crate) async fn use_package<A: AsRef<OsStr>>(
    arguments: &[A],
    environment: &[(&str, String)],
) -> Result<BTreeSet<String>> {
    let mut command = python()?;
    command.arg(Path::new(CLIENTS).join("own_sdk.py")).args(arguments).envs(environment.iter().cloned());
    let named = || arguments.iter().map(|word| word.as_ref().to_string_lossy()).collect::<Vec<_>>().join(" ");
    let said = run(command).await.with_context(|| format!("own_sdk.py {}", named()))?;
    Ok(said.lines().map(str::to_owned).collect())
}

#[tokio::test]
async fn every_public_method_of_our_package_works() -> Result<()> {
    let stage = Stage::set().await?;
    let environment = [stage.introduction().await?, images()].concat();
    let namespace = stage.namespace.name();
    let mut called = BTreeSet::new();
    for mode in ["sync", "async", "errors"] {
        called.extend(use_package(&[mode, KEPT, namespace], &environment).await?);
    }
    let public = use_package(&["public", KEPT, namespace], &[]).await?;
    ensure!(public.len() > 80, "there are {} public methods, which is less than there were", public.len());
    let left: Vec<_> = public.difference(&called).collect();
    assert!(left.is_empty(), "nobody calls {left:?}");
    stage.namespace.finish().await;
    Ok(())
}

/// It names an image of a registry, which a machine may have no way to: this one is made of the machine's own Python.
#[tokio::test]
async fn the_snippet_of_a_document_works_as_it_is_printed() -> Result<()> {
    let data_dir = PathBuf::from(given("ASB_TEST_DATA_DIR")?);
    let archive = data_dir.join("python.tar");
    let mut write = python()?;
    write.arg(Path::new(CLIENTS).join("python_image.py")).arg(&archive);
    run(write).await.context("write the image")?;
    let mut load = Command::new(asb_tests::program()?);
    load.args(["image", "load"]).arg(&archive).arg("--data-dir").arg(&data_dir);
    run(load).await.context("load the image")?;
    fs::remove_file(&archive).context("remove the archive")?;
    let snippet = Path::new(CLIENTS).join("printed_snippet.py");
    use_package(&[OsStr::new("documents"), snippet.as_os_str()], &[]).await?;
    Ok(())
}

#[tokio::test]
async fn every_example_runs() -> Result<()> {
    let mut examples = fs::read_dir(Path::new(PACKAGE).join("examples"))
        .context("list the examples")?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    examples.retain(|path| path.extension() == Some(OsStr::new("py")));
    examples.sort();
    ensure!(examples.len() >= 5, "the examples are gone");
    for example in examples {
        let mut command = python()?;
        command.arg(&example);
        let said = run(command).await.with_context(|| format!("run {}", example.display()))?;
        ensure!(!said.is_empty(), "{} says nothing", example.display());
    }
    Ok(())
}

#[tokio::test]
async fn its_types_style_and_units_hold() -> Result<()> {
    let cache = tempfile::tempdir().context("make room")?;
    let folder = cache.path().display().to_string();
    let checks: [&[&str]; 5] = [
        &["-m", "mypy", "--cache-dir", &folder, "src", "examples"],
        &["-m", "ruff", "check", "--no-cache", "."],
        &["-m", "ruff", "format", "--no-cache", "--check", "."],
        &["-m", "pytest", "--quiet", "-p", "no:cacheprovider"],
        &["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", &folder, "."],
    ];
    for check in checks {
        let mut command = python()?;
        command.args(check);
        run(command).await.with_context(|| check.join(" "))?;
    }
    let wheel = format!("{folder}/agent_sandbox_sdk-0.1.0-py3-none-any.whl");
    let mut listing = python()?;
    listing.args(["-m", "zipfile", "--list", &wheel]);
    let content = run(listing).await.context("list the wheel")?;
    for file in ["agent_sandbox/py.typed", "agent_sandbox/__init__.py", "agentic_sandbox_client/py.typed"] {
        ensure!(content.contains(file), "the wheel has no {file}:\n{content}");
    }
    Ok(())
}
