//! What an image says of itself: its name, and from which commit it was made.

use std::path::Path;

use anyhow::Result;

use crate::command;

const REPOSITORY: &str = "agent-sandbox-controller";

#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) name: String,
    pub(super) version: String,
    /// The commit, marked where there were changes beside it.
    pub(super) revision: String,
    /// When the commit was made. Not when the image was: that would be another image every time.
    pub(super) created: String,
}

/// As manifests name it.
pub(super) fn name() -> String {
    format!("{REPOSITORY}:v{}", env!("CARGO_PKG_VERSION"))
}

impl Facts {
    pub(super) fn of(root: &Path) -> Result<Self> {
        let git = |arguments: &[&str]| {
            Ok::<_, anyhow::Error>(command::output(root, "git", arguments)?.trim().to_owned())
        };
        let is_clean = git(&["status", "--porcelain"])?.is_empty();
        let revision = git(&["rev-parse", "HEAD"])?;
        Ok(Self {
            name: name(),
            version: format!("v{}", env!("CARGO_PKG_VERSION")),
            revision: if is_clean { revision } else { revision + "-dirty" },
            created: git(&["log", "-1", "--format=%cI"])?,
        })
    }
}
