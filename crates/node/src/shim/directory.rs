//! The directory of one Pod: what was asked for, how containers ended, and where the shim listens. Whoever comes after a
//! crash finds here all that is needed to go on or to clean up.
//!
//! ```text
//! sandbox.json                            the plan, written before anything is made
//! shim.lock, shim.sock, shim.log          held, served and written by the shim that lives
//! memory/<volume>                         where volumes in memory are mounted, in the shim's mount namespace only
//! containers/<name>/<attempt>/plan.json   what was asked for
//!                            /upper, /work, /overlays/<n>/…   the writable layers
//!                            /termination-message
//!                            /exit.json   how it ended
//! ```

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::plan::{ContainerPlan, SandboxPlan};
use super::protocol::{Attempt, Exit};

#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {path}")]
pub struct Error {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

#[derive(Clone, Debug)]
pub struct Directory {
    root: PathBuf,
}

impl Directory {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.root.join("shim.sock")
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.root.join("shim.lock")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.root.join("shim.log")
    }

    pub(super) fn memory(&self, volume: &str) -> PathBuf {
        self.root.join("memory").join(volume)
    }

    /// All that is kept of one attempt.
    pub fn attempt(&self, attempt: &Attempt) -> PathBuf {
        self.root.join("containers").join(&attempt.container).join(attempt.number.to_string())
    }

    pub(super) fn termination_message(&self, attempt: &Attempt) -> PathBuf {
        self.attempt(attempt).join("termination-message")
    }

    pub(super) fn save_sandbox(&self, plan: &SandboxPlan) -> Result<(), Error> {
        save(&self.root.join("sandbox.json"), plan, Survives::Crash)
    }

    pub fn sandbox(&self) -> Result<Option<SandboxPlan>, Error> {
        load(&self.root.join("sandbox.json"))
    }

    pub(super) fn save_container(&self, attempt: &Attempt, plan: &ContainerPlan) -> Result<(), Error> {
        save(&self.attempt(attempt).join("plan.json"), plan, Survives::Crash)
    }

    pub fn container(&self, attempt: &Attempt) -> Result<Option<ContainerPlan>, Error> {
        load(&self.attempt(attempt).join("plan.json"))
    }

    pub(super) fn save_exit(&self, attempt: &Attempt, exit: &Exit) -> Result<(), Error> {
        save(&self.attempt(attempt).join("exit.json"), exit, Survives::PowerCut)
    }

    /// How an attempt ended, if its shim lived to see it.
    pub fn exit(&self, attempt: &Attempt) -> Result<Option<Exit>, Error> {
        load(&self.attempt(attempt).join("exit.json"))
    }

    /// Every attempt that was made here, in order.
    pub fn attempts(&self) -> Result<Vec<Attempt>, Error> {
        let mut found = Vec::new();
        for (container, directory) in names(&self.root.join("containers"))? {
            for (number, _) in names(&directory)? {
                if let Ok(number) = number.parse() {
                    found.push(Attempt { container: container.clone(), number });
                }
            }
        }
        found.sort();
        Ok(found)
    }
}

fn names(directory: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let failed = |source| Error { action: "list", path: directory.to_owned(), source };
    match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed(error)),
        Ok(entries) => entries
            .map(|entry| {
                entry
                    .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
                    .map_err(failed)
            })
            .collect(),
    }
}

/// What a file is to outlast. A power cut ends all that plans describe, so they need not be there afterwards.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Survives {
    Crash,
    PowerCut,
}

/// Whole or not at all.
fn save(path: &Path, value: &impl Serialize, survives: Survives) -> Result<(), Error> {
    let written = || -> io::Result<()> {
        let parent = path.parent().ok_or(ErrorKind::InvalidInput)?;
        fs::create_dir_all(parent)?;
        let beside = path.with_extension("new");
        let mut file = File::create(&beside)?;
        file.write_all(&serde_json::to_vec(value)?)?;
        if survives == Survives::PowerCut {
            file.sync_all()?;
        }
        fs::rename(&beside, path)?;
        if survives == Survives::PowerCut {
            File::open(parent)?.sync_all()?;
        }
        Ok(())
    };
    written().map_err(|source| Error { action: "write", path: path.to_owned(), source })
}

fn load<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => read
            .and_then(|bytes| Ok(serde_json::from_slice(&bytes)?))
            .map(Some)
            .map_err(|source| Error { action: "read", path: path.to_owned(), source }),
    }
}
