//! Installs our own kinds from `deploy/crds`, when the checkout has them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::kubectl::Kubectl;
use crate::{terminal, workspace};

pub(crate) fn install(kubectl: &Kubectl) -> Result<()> {
    let files = files();
    if files.is_empty() {
        terminal::note("deploy/crds holds no resource definitions, so none are installed");
        return Ok(());
    }
    terminal::step(&format!("install {} resource definitions from deploy/crds", files.len()), || {
        for file in &files {
            let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
            kubectl.apply(&text).with_context(|| format!("install {}", file.display()))?;
        }
        let folder = workspace::root().join("deploy/crds").display().to_string();
        kubectl.run(&["wait", "--for=condition=Established", "--timeout=60s", "-f", &folder])?;
        Ok(())
    })
}

fn files() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(workspace::root().join("deploy/crds")) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    files
}
