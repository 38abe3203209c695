//! `cargo xtask planted`: makes mistakes in a copy of our API server, one after the other, and expects the differential
//! suite to notice each. What the mistakes are is data beside the suite.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::test::{Embedded, Pods};
use crate::{command, terminal, workspace};

const DATA: &str = "tests/suites/differential/planted.yaml";

/// Plants mistakes in a copy of our API server and expects the differential suite to notice each.
///
/// Takes some minutes: the server is built once for each.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only mistakes whose name contains this
    #[arg(default_value = "")]
    part: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mistake {
    name: String,
    file: PathBuf,
    find: String,
    replace: String,
    cases: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let text = fs::read_to_string(workspace::root().join(DATA)).with_context(|| format!("read {DATA}"))?;
    let mistakes: Vec<Mistake> = serde_saphyr::from_str(&text).with_context(|| format!("read {DATA}"))?;
    let suite = suite()?;
    let copy = Copy::make()?;
    let fails = terminal::step("the server as it is", || copy.fails(suite.as_path(), ""))?;
    ensure!(!fails, "the suite fails without any mistake, and would notice nothing");
    let chosen = mistakes.iter().filter(|mistake| mistake.name.contains(&arguments.part));
    let mut unnoticed = Vec::new();
    for mistake in chosen {
        let noticed = terminal::step(&mistake.name, || copy.is_noticed(mistake, &suite))?;
        terminal::note(if noticed { "noticed" } else { "NOT noticed" });
        if !noticed {
            unnoticed.push(mistake.name.as_str());
        }
    }
    ensure!(unnoticed.is_empty(), "the suite did not notice: {}", unnoticed.join("; "));
    Ok(())
}

/// The program of the differential suite, built from the checkout as it is.
fn suite() -> Result<PathBuf> {
    let build = [
        "test",
        "--locked",
        "--package",
        "asb-tests",
        "--test",
        "differential",
        "--no-run",
        "--message-format=json",
    ];
    let said = terminal::step("build the suite", || command::output(&workspace::root(), "cargo", &build))?;
    let messages = said.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let program = messages.filter_map(|message| Some(message["executable"].as_str()?.to_owned())).next_back();
    program.map(PathBuf::from).context("cargo did not say where the suite is")
}

/// What is committed, in a folder of its own that goes with this value.
struct Copy {
    folder: PathBuf,
    target: PathBuf,
}

impl Copy {
    fn make() -> Result<Self> {
        let cache = workspace::cache()?;
        let this = Self { folder: cache.join("planted"), target: cache.join("planted-target") };
        this.remove()?;
        let source = workspace::root().display().to_string();
        let folder = this.folder.display().to_string();
        command::output(&workspace::root(), "git", &["clone", "--quiet", "--local", &source, &folder])?;
        Ok(this)
    }

    fn remove(&self) -> Result<()> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).with_context(|| format!("remove {}", self.folder.display()))?;
        }
        Ok(())
    }

    fn is_noticed(&self, mistake: &Mistake, suite: &Path) -> Result<bool> {
        let path = self.folder.join("crates/apiserver/src").join(&mistake.file);
        let sound = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let places = sound.matches(&mistake.find).count();
        ensure!(places == 1, "{:?} occurs {places} times in {}", mistake.find, mistake.file.display());
        fs::write(&path, sound.replace(&mistake.find, &mistake.replace)).context("plant the mistake")?;
        let noticed = self.fails(suite, &mistake.cases);
        fs::write(&path, sound).context("mend the mistake")?;
        noticed
    }

    /// Whether the suite, or a part of it, fails on the copy as it is now.
    fn fails(&self, suite: &Path, cases: &str) -> Result<bool> {
        let mut build = Command::new("cargo");
        build.args(["build", "--locked", "--quiet", "--package", "asb"]).current_dir(&self.folder);
        let status = build.env("CARGO_TARGET_DIR", &self.target).status().context("start cargo")?;
        if !status.success() {
            bail!("the copy does not compile");
        }
        let server = Embedded::start(&self.target.join("debug/asb"), Pods::Left)?;
        let status = Command::new(suite)
            .envs(server.environment())
            .env("ASB_CASES", cases)
            .current_dir(workspace::root().join("tests"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .context("run the suite")?;
        Ok(!status.success())
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // What cannot be removed now is removed before the next run.
        let _ = self.remove();
    }
}
