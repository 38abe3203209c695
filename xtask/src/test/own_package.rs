//! The image of Pods that use our own Python package: a Python, what the package stands on, itself, and what is tried with it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::parts::clients;
use crate::{terminal, workspace};

const NAME: &str = "asb.test/python:1";

/// Writes it as an archive.
pub(super) fn write(archive: &Path) -> Result<()> {
    let (package, scripts) =
        (workspace::root().join("sdk/python/src"), workspace::root().join("tests/clients/python"));
    let mut python = Command::new(clients::own_sdk()?);
    python.env("PYTHONPATH", &package).env("PYTHONDONTWRITEBYTECODE", "1");
    python.arg(scripts.join("python_image.py")).arg(archive).arg(NAME).args([&package, &scripts]);
    terminal::watched(&mut python).with_context(|| format!("write the image {NAME}"))
}
