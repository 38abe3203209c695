//! A one-line change to a pinned module at build time, for what no setting of the program changes. The modules are
//! vendored into a scratch folder and edited there, so that no third-party code is kept in this tree.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::terminal;

pub(super) struct Edit {
    /// A file of a module, as an import path would name it.
    pub(super) file: &'static str,
    pub(super) from: &'static str,
    pub(super) to: &'static str,
}

impl Edit {
    /// Makes `scratch` a copy of the module in `source` with its dependencies beside it, and edits one of them.
    pub(super) fn vendor(&self, source: &Path, scratch: &Path) -> Result<()> {
        for name in ["go.mod", "go.sum"] {
            fs::copy(source.join(name), scratch.join(name)).with_context(|| format!("copy {name}"))?;
        }
        terminal::watched(Command::new("go").current_dir(scratch).args(["mod", "vendor", "-v"]))?;
        self.apply(&scratch.join("vendor").join(self.file))
    }

    fn apply(&self, file: &Path) -> Result<()> {
        let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
        ensure!(text.contains(self.from), "{} no longer has `{}`", self.file, self.from);
        fs::write(file, text.replace(self.from, self.to)).with_context(|| format!("edit {}", file.display()))
    }
}
