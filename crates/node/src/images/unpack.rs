//! Turns the archive of a layer into a directory that overlayfs can stack. The archive is hostile until proven
//! otherwise: it is bounded in every direction, and nothing is written outside the directory.

mod archive;
mod attributes;
mod compression;
mod meter;
mod number;
mod pax;
mod place;
mod refusal;
mod sparse;
#[cfg(test)]
mod tests;
mod tree;
mod whiteout;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(super) use self::archive::{Archive, Kind};
pub use self::compression::Decoder;
pub use self::meter::Excess;
pub use self::refusal::{Refusal, UnpackError};
pub use self::tree::{OPAQUE, is_whiteout};

use self::meter::Meter;
use self::tree::Tree;
use super::digest::{Digest, Hashed};
use super::limits::Limits;

/// What became of a layer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    /// Of all files together.
    pub bytes: u64,
    /// Files, directories and links.
    pub entries: u64,
    /// The layer hides everything below it.
    #[serde(default)]
    pub hides_all: bool,
    /// Device nodes that were left out: a container gets its devices from elsewhere.
    #[serde(default)]
    pub devices_left_out: u64,
}

#[derive(Debug)]
pub struct Unpacked {
    pub facts: Facts,
    /// Directories that the archive takes for granted: they are to look as in the layers below.
    pub implicit: Vec<PathBuf>,
}

/// Unpacks an archive, compressed or not, into the empty directory `root`, and makes sure that its plain content is what
/// `diff_id` says. What is in `root` after an error is for the caller to remove.
pub fn unpack(
    reader: impl Read,
    diff_id: &Digest,
    root: &Path,
    limits: &Limits,
) -> Result<Unpacked, UnpackError> {
    let metered = Meter::open(reader, limits)?;
    let mut hashed = Hashed::new(metered, diff_id.hasher());
    let unpacked = write(&mut hashed, root, limits)?;
    // Whatever follows the end of the archive is part of what was hashed.
    io::copy(&mut hashed, &mut io::sink()).map_err(UnpackError::read)?;
    let found = hashed.finish();
    if found != *diff_id {
        return Err(UnpackError::Digest { expected: diff_id.clone(), found });
    }
    Ok(unpacked)
}

fn write(reader: impl Read, root: &Path, limits: &Limits) -> Result<Unpacked, UnpackError> {
    let mut archive = Archive::new(reader, limits);
    let mut tree = Tree::at(root, limits)?;
    while let Some(entry) = archive.next()? {
        let name = String::from_utf8_lossy(&entry.name).into_owned();
        tree.add(&entry, &mut archive.data()).map_err(|error| error.within(&name))?;
    }
    tree.finish()
}
