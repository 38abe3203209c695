//! Empty directories on disk. Those in memory are the shim's: see `SandboxPlan::memory_volumes`.

use std::fs;
use std::path::Path;

use super::durable::{Gate, OPEN, closed, make_directory, publish};
use super::error::{Error, failed};
use super::ownership::{self, Policy};
use super::removal::remove;

/// Anyone in the Pod may use it.
const MODE: u32 = 0o777;

/// Makes sure of an empty directory at `path`, a volume of a Pod. One that is there was whole from its first moment, and its
/// container may have changed it: it is left as it is.
pub fn make(path: &Path, group: Option<u32>) -> Result<(), Error> {
    make_with(path, group, OPEN)
}

fn make_with(path: &Path, group: Option<u32>, gate: Gate<'_>) -> Result<(), Error> {
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(());
    }
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(failed("make", path)(std::io::ErrorKind::InvalidInput.into()));
    };
    // No volume has a name like this.
    let new = above.join(format!(".new-{}", name.to_string_lossy()));
    let failing = failed("make", path);
    gate().and_then(|()| closed(above)).map_err(&failing)?;
    remove(&new)?;
    gate().and_then(|()| make_directory(&new, MODE)).map_err(&failing)?;
    if let Some(group) = group {
        gate().map_err(&failing)?;
        ownership::apply(&new, group, Policy::Always)?;
    }
    publish(&new, path, gate).map_err(&failing)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::volumes::fixtures::at_every_step;

    fn seen(path: &Path) -> (u32, u32) {
        let metadata = fs::metadata(path).unwrap();
        (metadata.gid(), metadata.mode() & 0o7777)
    }

    #[test]
    fn an_empty_directory_is_everyones_below_one_that_is_nobodys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("volumes/v");
        make(&path, None).unwrap();
        assert_eq!((seen(&path).1, seen(path.parent().unwrap()).1), (0o777, 0o700));
    }

    #[test]
    fn one_that_is_used_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("v");
        make(&path, Some(3000)).unwrap();
        assert_eq!(seen(&path), (3000, 0o2777));
        fs::write(path.join("f"), "mine").unwrap();
        make(&path, Some(4000)).unwrap();
        assert_eq!((seen(&path).0, fs::read(path.join("f")).unwrap()), (3000, b"mine".to_vec()));
    }

    #[test]
    fn a_crash_at_any_step_leaves_nothing_or_all_and_can_be_done_again() {
        at_every_step(
            |folder, gate| make_with(&folder.join("volumes/v"), Some(3000), gate).is_ok(),
            |folder| {
                let path = folder.join("volumes/v");
                assert!(!path.exists() || seen(&path) == (3000, 0o2777));
                make(&path, Some(3000)).unwrap();
                assert_eq!(seen(&path), (3000, 0o2777));
                assert_eq!(fs::read_dir(folder.join("volumes")).unwrap().count(), 1);
            },
        );
    }
}
