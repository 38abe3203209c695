//! `sandboxd install DIRECTORY`: puts a copy of this program where a container will find it, from an init container for one.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const NAME: &str = "sandboxd";

/// Whole or not at all, and over an older one that may be running.
pub(crate) fn install(program: &Path, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let temporary = directory.join(format!(".{NAME}-{}", std::process::id()));
    let written = write(program, &temporary).and_then(|()| fs::rename(&temporary, directory.join(NAME)));
    if written.is_err() {
        // What went wrong before is what matters.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write(program: &Path, temporary: &Path) -> io::Result<()> {
    let mut copy = File::create(temporary)?;
    io::copy(&mut File::open(program)?, &mut copy)?;
    copy.set_permissions(Permissions::from_mode(0o755))?;
    copy.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_replaces_an_older_one_and_can_be_run() {
        let home = tempfile::tempdir().unwrap();
        let (program, goal) = (home.path().join("program"), home.path().join("a/b"));
        for text in ["one", "two"] {
            fs::write(&program, text).unwrap();
            install(&program, &goal).unwrap();
            assert_eq!(fs::read_to_string(goal.join("sandboxd")).unwrap(), text);
        }
        assert_eq!(fs::metadata(goal.join("sandboxd")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_dir(&goal).unwrap().count(), 1);
    }

    #[test]
    fn what_fails_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        assert!(install(&home.path().join("missing"), home.path()).is_err());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }
}
