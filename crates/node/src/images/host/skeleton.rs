//! The archive that the built-in image is made from, as it grows, and the system it is made after.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tar::{Builder, EntryType, Header};

use super::HostError;

/// The beginning of 2020: the same system must give the same bytes at any time.
const TIME: u64 = 1_577_836_800;
/// No list or bundle of a system is larger.
const LARGEST: u64 = 8 << 20;

pub(super) struct Skeleton {
    root: PathBuf,
    archive: Builder<Vec<u8>>,
}

impl Skeleton {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), archive: Builder::new(Vec::new()) }
    }

    pub(super) fn directory(&mut self, name: &str, mode: u32) -> Result<(), HostError> {
        self.add(name, EntryType::Directory, mode, None, b"")
    }

    pub(super) fn file(&mut self, name: &str, content: impl AsRef<[u8]>) -> Result<(), HostError> {
        self.add(name, EntryType::Regular, 0o644, None, content.as_ref())
    }

    pub(super) fn link(&mut self, name: &str, target: &str) -> Result<(), HostError> {
        self.add(name, EntryType::Symlink, 0o777, Some(target), b"")
    }

    /// The content of a file of the system, if it is a file and there.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, HostError> {
        let path = self.root.join(name);
        let read = || -> io::Result<Option<Vec<u8>>> {
            let file = fs::File::open(&path)?;
            if !file.metadata()?.is_file() {
                return Ok(None);
            }
            let mut content = Vec::new();
            file.take(LARGEST).read_to_end(&mut content)?;
            Ok(Some(content))
        };
        match read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map_err(|source| HostError::Read { path: path.clone(), source }),
        }
    }

    pub(super) fn read_text(&self, name: &str) -> Result<String, HostError> {
        Ok(String::from_utf8_lossy(&self.read(name)?.unwrap_or_default()).into_owned())
    }

    /// Where a link of the system leads, as it is written.
    pub(super) fn target(&self, name: &str) -> Option<String> {
        fs::read_link(self.root.join(name)).ok()?.to_str().map(str::to_owned)
    }

    /// Where a path of the system leads in the end, if that is a part of `/usr` that the image shows.
    pub(super) fn shown(&self, name: &str) -> Option<String> {
        let real = fs::canonicalize(self.root.join(name)).ok()?;
        let inside = real.strip_prefix(fs::canonicalize(&self.root).ok()?).ok()?.to_str()?;
        (inside.starts_with("usr/") && !inside.starts_with("usr/local/")).then(|| format!("/{inside}"))
    }

    /// What is in a directory of the system, in the order of names.
    pub(super) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    pub(super) fn is_directory(&self, name: &str) -> bool {
        fs::symlink_metadata(self.root.join(name)).is_ok_and(|found| found.is_dir())
    }

    pub(super) fn exists(&self, name: &str) -> bool {
        self.root.join(name).exists()
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.archive.into_inner().expect("writing to memory does not fail")
    }

    fn add(
        &mut self,
        name: &str,
        kind: EntryType,
        mode: u32,
        target: Option<&str>,
        content: &[u8],
    ) -> Result<(), HostError> {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(TIME);
        header.set_size(content.len() as u64);
        let added = match target {
            Some(target) => self.archive.append_link(&mut header, name, target),
            None => self.archive.append_data(&mut header, name, content),
        };
        added.map_err(|source| HostError::Read { path: self.root.join(name), source })
    }
}
