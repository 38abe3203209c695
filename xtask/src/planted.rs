//! `cargo xtask planted`: makes mistakes in a copy of our program, one after the other, and expects a suite to notice each.
//! What the mistakes are is data beside the suite.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::parts::debian;
use crate::test::{Embedded, NAMED, Pods, THREADS, part};
use crate::{command, terminal, workspace};

/// Plants mistakes in a copy of our program and expects a suite to notice each.
///
/// Takes some minutes: the program is built once for each.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only mistakes whose name contains this
    #[arg(default_value = "")]
    part: String,

    /// Who is to notice
    #[arg(long, value_enum, default_value_t)]
    suite: Ground,
}

/// A suite, and what it looks at.
#[derive(Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Ground {
    /// Answers of our API server
    #[default]
    Differential,
    /// Attacks from inside of Pods, as root
    Escapes,
    /// Kills and restarts of the whole program, as root
    Torture,
}

impl Ground {
    fn name(self) -> &'static str {
        match self {
            Self::Differential => "differential",
            Self::Escapes => "escapes",
            Self::Torture => "torture",
        }
    }

    fn data(self) -> String {
        format!("tests/suites/{}/planted.yaml", self.name())
    }

    /// What the files of its mistakes are in.
    fn sources(self) -> &'static str {
        match self {
            Self::Differential => "crates/apiserver/src",
            Self::Escapes | Self::Torture => "crates",
        }
    }

    /// The parts of the suite that must pass as long as there is no mistake: all of it, where that takes seconds.
    fn parts<'a>(self, mistakes: &[&'a Mistake]) -> BTreeSet<&'a str> {
        match self {
            Self::Differential => [""].into(),
            Self::Escapes | Self::Torture => mistakes.iter().map(|mistake| mistake.cases.as_str()).collect(),
        }
    }
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
    let data = arguments.suite.data();
    let text = fs::read_to_string(workspace::root().join(&data)).with_context(|| format!("read {data}"))?;
    let mistakes: Vec<Mistake> = serde_saphyr::from_str(&text).with_context(|| format!("read {data}"))?;
    let chosen: Vec<_> = mistakes.iter().filter(|mistake| mistake.name.contains(&arguments.part)).collect();
    let suite = suite(arguments.suite)?;
    let copy = Copy::make(arguments.suite)?;
    for part in arguments.suite.parts(&chosen) {
        let fails = terminal::step(&format!("the program as it is: {part}"), || copy.fails(&suite, part))?;
        ensure!(!fails, "the suite fails without any mistake, and would notice nothing");
    }
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

/// The program of the suite, built from the checkout as it is.
fn suite(ground: Ground) -> Result<PathBuf> {
    let build = [
        "test",
        "--locked",
        "--package",
        "asb-tests",
        "--test",
        ground.name(),
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
    ground: Ground,
    folder: PathBuf,
    target: PathBuf,
}

impl Copy {
    fn make(ground: Ground) -> Result<Self> {
        let cache = workspace::cache()?;
        let this = Self { ground, folder: cache.join("planted"), target: cache.join("planted-target") };
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
        let path = self.folder.join(self.ground.sources()).join(&mistake.file);
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
        match self.ground {
            Ground::Differential => self.differs(suite, cases),
            Ground::Escapes => self.is_left(suite, cases),
            Ground::Torture => self.suffers(suite, cases),
        }
    }

    fn differs(&self, suite: &Path, cases: &str) -> Result<bool> {
        let server = Embedded::start(&self.program(), Pods::Left)?;
        let mut command = Command::new(suite);
        command.envs(server.environment()).env("ASB_CASES", cases);
        is_bad(command)
    }

    fn is_left(&self, suite: &Path, cases: &str) -> Result<bool> {
        let server = Embedded::start(&self.program(), Pods::Told(&NAMED))?;
        let mut command = Command::new(suite);
        command.args([cases, "--skip", "allowed::", "--test-threads", THREADS]).envs(server.environment());
        command.env("ASB_TEST_PROGRAM", self.program()).env("ASB_TEST_KUBECTL", part("kubectl")?);
        is_bad(command)
    }

    fn suffers(&self, suite: &Path, cases: &str) -> Result<bool> {
        let mut command = Command::new(suite);
        command.args([cases, "--test-threads", "1"]).env("ASB_TEST_PROGRAM", self.program());
        command.env("ASB_TEST_DEBIAN", debian::NODE.obtain()?).env("ASB_TEST_SEED", SEED);
        is_bad(command)
    }

    fn program(&self) -> PathBuf {
        self.target.join("debug/asb")
    }
}

/// The same chances whoever looks.
const SEED: &str = "1";

fn is_bad(mut suite: Command) -> Result<bool> {
    suite.current_dir(workspace::root().join("tests")).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(!suite.status().context("run the suite")?.success())
}

impl Drop for Copy {
    fn drop(&mut self) {
        // What cannot be removed now is removed before the next run.
        let _ = self.remove();
    }
}
