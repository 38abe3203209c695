//! A directory inside a volume that a mount names: made if it is missing, and never outside of the volume, whatever links a
//! container has put there.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, chmod, fstat, mkdirat, openat, openat2};
use rustix::io::Errno;

use super::error::{Error, failed};

/// Makes sure of `inner` in `volume`. What is made has the mode of the volume, so that who may use the one may use the other.
pub fn make(volume: &Path, inner: &Path) -> Result<(), Error> {
    let path = volume.join(inner);
    let made = open_volume(volume).and_then(|base| reach(&base, inner));
    made.map_err(|error| match error {
        Errno::XDEV | Errno::LOOP => Error::Escape { path: path.clone() },
        other => failed("make", &path)(other.into()),
    })
}

fn open_volume(volume: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(CWD, volume, flags, Mode::empty())
}

fn reach(base: &OwnedFd, inner: &Path) -> rustix::io::Result<()> {
    let mode = Mode::from_raw_mode(fstat(base)?.st_mode & 0o7777);
    let (mut sofar, mut above) = (PathBuf::from("."), inside(base, Path::new("."))?);
    for name in inner {
        sofar.push(name);
        above = match inside(base, &sofar) {
            Err(Errno::NOENT) => {
                made(&above, Path::new(name), mode)?;
                inside(base, &sofar)?
            }
            other => other?,
        };
    }
    Ok(())
}

/// The kernel follows the path and is told not to leave the volume.
fn inside(base: &OwnedFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    openat2(base, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// In the directory that was reached. A link that points nowhere has the name already, and stays an error.
fn made(above: &OwnedFd, name: &Path, mode: Mode) -> rustix::io::Result<()> {
    match mkdirat(above, name, mode) {
        Err(Errno::EXIST) => return Ok(()),
        other => other?,
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let new = openat(above, name, flags, Mode::empty())?;
    chmod(format!("/proc/self/fd/{}", new.as_raw_fd()), mode)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn directories_are_made_with_the_volumes_mode_and_found_again() {
        let volume = tempfile::tempdir().unwrap();
        fs::set_permissions(volume.path(), fs::Permissions::from_mode(0o2777)).unwrap();
        make(volume.path(), Path::new("a/b")).unwrap();
        make(volume.path(), Path::new("a/b")).unwrap();
        assert_eq!(fs::metadata(volume.path().join("a/b")).unwrap().mode() & 0o7777, 0o2777);
    }

    #[test]
    fn a_file_is_as_good_as_a_directory() {
        let volume = tempfile::tempdir().unwrap();
        fs::write(volume.path().join("f"), "").unwrap();
        make(volume.path(), Path::new("f")).unwrap();
        assert!(make(volume.path(), Path::new("f/g")).is_err());
    }

    #[test]
    fn links_within_the_volume_are_followed() {
        let volume = tempfile::tempdir().unwrap();
        fs::create_dir(volume.path().join("real")).unwrap();
        symlink("real", volume.path().join("link")).unwrap();
        make(volume.path(), Path::new("link/x")).unwrap();
        assert!(volume.path().join("real/x").is_dir());
    }

    #[test]
    fn links_that_lead_out_make_nothing_outside() {
        let (outside, volume) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        symlink(outside.path(), volume.path().join("absolute")).unwrap();
        symlink("..", volume.path().join("above")).unwrap();
        symlink(outside.path().join("new"), volume.path().join("dangling")).unwrap();
        for path in ["absolute/x", "above/x", "../x", "dangling/x", "absolute", "/proc/self/root"] {
            assert!(make(volume.path(), Path::new(path)).is_err(), "{path}");
        }
        assert!(matches!(make(volume.path(), Path::new("absolute/x")), Err(Error::Escape { .. })));
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}
