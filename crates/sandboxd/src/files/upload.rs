//! Writes a file whole or not at all: under a temporary name beside it, to the disk, and then over it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::facts::{Facts, Kind};
use super::path::Inside;
use super::root::Root;
use super::walk::{Follow, Missing, Place};
use crate::failure::Failure;

/// Upstream's name for such files, so that whoever ignores those ignores ours.
pub(super) const PREFIX: &str = ".sandboxd-tmp-";
pub(crate) const FILE_MODE: u32 = 0o644;

static NEXT: AtomicU64 = AtomicU64::new(0);

pub(crate) struct Upload {
    place: Place,
    name: OsString,
    temporary: OsString,
    file: File,
    mode: u32,
    done: bool,
}

impl Upload {
    /// Makes the directories on the way. A link is written through, as long as it stays inside.
    pub(crate) fn begin(root: &Root, inside: &Inside, mode: u32) -> Result<Self, Failure> {
        let failed = |errno| Failure::of(errno, &format!("writing {}", inside.shown()));
        let place = root.place(inside, Follow::Last, Missing::Made).map_err(failed)?;
        let Some(name) = place.name.clone() else { return Err(failed(Errno::ISDIR)) };
        if place.stat().is_ok_and(|stat| Facts::of(&stat).kind == Kind::Directory) {
            return Err(failed(Errno::ISDIR));
        }
        let (temporary, file) = temporary(&place).map_err(failed)?;
        Ok(Self { place, name, temporary, file, mode, done: false })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file.write_all(bytes).map_err(Failure::from)
    }

    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        rustix::fs::fchmod(&self.file, Mode::from_raw_mode(self.mode)).map_err(failed)?;
        self.file.sync_all()?;
        let directory = &self.place.directory;
        renameat(directory, &self.temporary, directory, &self.name).map_err(failed)?;
        self.done = true;
        Ok(())
    }
}

fn failed(errno: Errno) -> Failure {
    Failure::of(errno, "writing the file")
}

impl Drop for Upload {
    fn drop(&mut self) {
        if !self.done {
            // Nobody is left who could be told.
            let _ = unlinkat(&self.place.directory, &self.temporary, AtFlags::empty());
        }
    }
}

fn temporary(place: &Place) -> Result<(OsString, File), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = OsString::from(format!("{PREFIX}{}-{number}", std::process::id()));
        match openat(&place.directory, OsStr::new(&name), flags, Mode::from_raw_mode(0o600)) {
            // Left by one that was killed and had our process id.
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
            Ok(file) => return Ok((name, File::from(file))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::failure::Code;

    struct Home {
        directory: tempfile::TempDir,
        root: Root,
    }

    fn home() -> Home {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("root")).unwrap();
        Home { root: Root::open(&directory.path().join("root")).unwrap(), directory }
    }

    impl Home {
        fn write(&self, path: &str, text: &str) -> Result<(), Failure> {
            let mut upload = Upload::begin(&self.root, &Inside::parse(path.as_bytes()).unwrap(), 0o640)?;
            upload.write(text.as_bytes())?;
            upload.finish()
        }

        fn names(&self, path: &str) -> Vec<String> {
            let entries = fs::read_dir(self.root.path().join(path)).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        }
    }

    #[test]
    fn a_file_is_written_with_its_mode_and_its_directories() {
        let home = home();
        home.write("a/b/c", "text").unwrap();
        let path = home.root.path().join("a/b/c");
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
        assert_eq!(home.names("a/b"), ["c"]);
    }

    #[test]
    fn an_upload_that_is_given_up_leaves_nothing() {
        let home = home();
        home.write("file", "before").unwrap();
        let mut upload = Upload::begin(&home.root, &Inside::parse(b"file").unwrap(), FILE_MODE).unwrap();
        upload.write(b"half").unwrap();
        assert_eq!(home.names("").len(), 2);
        drop(upload);
        assert_eq!(home.names(""), ["file"]);
        assert_eq!(fs::read_to_string(home.root.path().join("file")).unwrap(), "before");
    }

    #[test]
    fn a_directory_is_not_written_over() {
        let home = home();
        fs::create_dir(home.root.path().join("dir")).unwrap();
        for path in ["dir", "", "/"] {
            assert_eq!(home.write(path, "x").unwrap_err().code, Code::InvalidArgument, "{path:?}");
        }
    }

    #[test]
    fn links_are_written_through_and_never_out() {
        let home = home();
        symlink("file", home.root.path().join("link")).unwrap();
        symlink("../secret", home.root.path().join("out")).unwrap();
        symlink("..", home.root.path().join("up")).unwrap();
        home.write("link", "text").unwrap();
        assert_eq!(fs::read_to_string(home.root.path().join("file")).unwrap(), "text");
        for path in ["out", "up/secret"] {
            assert_eq!(home.write(path, "x").unwrap_err().code, Code::PermissionDenied, "{path}");
        }
        assert!(!home.directory.path().join("secret").exists());
    }
}
