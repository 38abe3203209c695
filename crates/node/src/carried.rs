//! The program that this one carries for Sandboxes that ask for it, laid down where their Pods mount it from. A new one takes
//! the old one's place at once; those who run the old one keep it.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What the file is called.
const NAME: &str = "sandboxd";

/// A program as it is on disk.
#[derive(Clone, Copy)]
pub struct Carried(pub &'static [u8]);

impl std::fmt::Debug for Carried {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Carried({} bytes)", self.0.len())
    }
}

impl Carried {
    /// Lays it down in `folder`, unless it is there, and says where it is. Whole or not at all: containers may start at any time.
    pub fn lay_down(self, folder: &Path) -> io::Result<PathBuf> {
        let path = folder.join(NAME);
        if fs::read(&path).is_ok_and(|there| there == self.0) {
            return Ok(path);
        }
        fs::create_dir_all(folder)?;
        let fresh = folder.join(format!(".{NAME}.new"));
        let mut file = File::create(&fresh)?;
        file.write_all(self.0)?;
        file.set_permissions(Permissions::from_mode(0o755))?;
        file.sync_all()?;
        fs::rename(&fresh, &path)?;
        File::open(folder)?.sync_all()?;
        Ok(path)
    }

    /// Lays it down where Pods of any user mount it from.
    pub(crate) fn offer(self, folder: &Path) -> io::Result<()> {
        self.lay_down(folder)?;
        fs::set_permissions(folder, Permissions::from_mode(0o755))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_program_takes_the_place_of_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("runtime");
        Carried(b"old").offer(&place).unwrap();
        let held = File::open(place.join(NAME)).unwrap();
        Carried(b"new").offer(&place).unwrap();
        assert_eq!(io::read_to_string(held).unwrap(), "old");
        assert_eq!(fs::read(place.join(NAME)).unwrap(), b"new");
        assert_eq!(fs::metadata(place.join(NAME)).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_dir(&place).unwrap().count(), 1);
    }
}
