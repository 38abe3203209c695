//! The node of `asb up`: what is said about it on the command line, and whether this machine and whoever started the program
//! can have one. Running Pods is left to `asb_node`.

mod flags;

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use asb_node::doctor::{Finding, essentials};
use asb_node::images::Images;
use asb_node::settings::Settings;
use serde::{Deserialize, Serialize};

use crate::daemon;
pub(crate) use flags::Flags;

/// Whether Pods run here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub(crate) enum State {
    /// It runs Pods, as a Node of this name.
    Runs { name: String },
    /// Pods become Ready, and nothing runs in them.
    Pretended,
    /// Nobody runs Pods, and why.
    Off { reason: String },
}

impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runs { name } => write!(formatter, "Pods run here, on Node {name}"),
            Self::Pretended => {
                write!(formatter, "Pods are pretended: they become Ready, and nothing runs in them")
            }
            Self::Off { reason } => write!(formatter, "no Pods run here: {reason}"),
        }
    }
}

/// A node that can be started, or why there is none.
pub(crate) enum Prepared {
    Able { settings: Box<Settings>, images: Arc<Images> },
    Unable { reason: String },
}

/// Without the rights there is no isolation, and so no node.
const ROOT: &str = "isolating them needs root; the API is served all the same (`sudo asb up` serves both)";

/// Why there can be no node, if so. Blocks: what isolates Pods is tried.
pub(crate) fn obstacle(flags: &Flags, data_dir: &Path) -> Option<String> {
    if flags.no_node {
        return Some("asb up was started with --no-node".to_owned());
    }
    if !rustix::process::geteuid().is_root() {
        return Some(ROOT.to_owned());
    }
    essentials(&daemon::node_root(data_dir)).err().map(|missing| lacking(&missing))
}

/// Opens what a node needs, unless something is in its way. What was asked for and makes no sense is an error in any case.
/// Blocks.
pub(crate) fn prepare(
    flags: &Flags,
    data_dir: &Path,
    api: SocketAddr,
    obstacle: Option<String>,
) -> Result<Prepared> {
    let settings = flags.settings(data_dir, api)?;
    if let Some(reason) = obstacle {
        return Ok(Prepared::Unable { reason });
    }
    let images = Images::open(&settings.root.join("images"), settings.images.clone())
        .context("cannot open the images of the node")?;
    Ok(Prepared::Able { settings: Box::new(settings), images: Arc::new(images) })
}

fn lacking(missing: &[Finding]) -> String {
    let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
    format!("{}; `asb doctor` says what helps", missing.join("; "))
}

impl Prepared {
    pub(crate) fn images(&self) -> Option<Arc<Images>> {
        match self {
            Self::Able { images, .. } => Some(Arc::clone(images)),
            Self::Unable { .. } => None,
        }
    }
}
