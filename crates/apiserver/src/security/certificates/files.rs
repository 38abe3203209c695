//! Files that nobody else may read, each written whole or not at all.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::Error;

const PRIVATE_FOLDER: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;
/// More than any certificate and key.
const LONGEST: u64 = 64 * 1024;
const UNFINISHED: &str = ".unfinished";

/// A folder of private files.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes the folder where there is none, and narrows its permissions where they are wider.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let made = DirBuilder::new().mode(PRIVATE_FOLDER).create(path);
        match made {
            Ok(()) => sync_folder(parent(path))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(failed("make the folder", path)(source)),
        }
        let metadata = fs::metadata(path).map_err(failed("look at", path))?;
        if !metadata.is_dir() {
            let source = io::Error::from(io::ErrorKind::NotADirectory);
            return Err(failed("use the folder", path)(source));
        }
        narrow(path, &metadata, PRIVATE_FOLDER)?;
        let folder = Self(path.to_owned());
        folder.sweep()?;
        Ok(folder)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// What a file holds, or nothing where there is none.
    pub(super) fn read(&self, name: &str) -> Result<Option<String>, Error> {
        let path = self.path(name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(failed("open", &path)(source)),
        };
        narrow(&path, &file.metadata().map_err(failed("look at", &path))?, PRIVATE_FILE)?;
        let mut bytes = Vec::new();
        file.take(LONGEST).read_to_end(&mut bytes).map_err(failed("read", &path))?;
        // Bytes that are not text are no PEM either, which is what the reader will say.
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        replace(&self.path(name), text, None)
    }

    /// Writes what others are to find, unless it is there already.
    pub(super) fn publish(&self, name: &str, text: &str) -> Result<(), Error> {
        match self.read(name)? {
            Some(present) if present == text => Ok(()),
            _ => self.write(name, text),
        }
    }

    /// Removes what a crash has left unfinished.
    fn sweep(&self) -> Result<(), Error> {
        let entries = fs::read_dir(&self.0).map_err(failed("list", &self.0))?;
        for entry in entries {
            let path = entry.map_err(failed("list", &self.0))?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(UNFINISHED)) {
                fs::remove_file(&path).map_err(failed("remove", &path))?;
            }
        }
        Ok(())
    }
}

/// Puts a private file in the place of whatever is there, so that a crash leaves the one or the other. The file of
/// another user stays that user's.
pub(super) fn replace_private(path: &Path, text: &str) -> Result<(), Error> {
    // Such as ~/.kube, where nobody has used kubectl yet.
    DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE_FOLDER)
        .create(parent(path))
        .map_err(failed("make the folder of", path))?;
    // A link stays, and what it leads to is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let owner = fs::metadata(&path).ok().map(|metadata| (metadata.uid(), metadata.gid()));
    replace(&path, text, owner)
}

fn replace(path: &Path, text: &str, owner: Option<(u32, u32)>) -> Result<(), Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = path.with_file_name(format!(".{name}.{}{UNFINISHED}", Uuid::new_v4()));
    let written = write_new(&unfinished, text, owner)
        .and_then(|()| fs::rename(&unfinished, path))
        .map_err(failed("write", path));
    if written.is_err() {
        // What matters is told already; a leftover is swept at the next start.
        let _ = fs::remove_file(&unfinished);
    }
    written.and_then(|()| sync_folder(parent(path)))
}

fn write_new(path: &Path, text: &str, owner: Option<(u32, u32)>) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(path)?;
    let own = file.metadata()?;
    if let Some((user, group)) = owner.filter(|owner| *owner != (own.uid(), own.gid())) {
        fchown(&file, Some(user), Some(group))?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn narrow(path: &Path, metadata: &fs::Metadata, most: u32) -> Result<(), Error> {
    let mode = metadata.permissions().mode() & 0o777;
    if mode & !most == 0 {
        return Ok(());
    }
    tracing::warn!(path = %path.display(), "others could read this; its permissions are narrowed");
    fs::set_permissions(path, Permissions::from_mode(mode & most))
        .map_err(failed("narrow the permissions of", path))
}

fn sync_folder(path: &Path) -> Result<(), Error> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(failed("sync the folder", path))
}

/// A name without a folder is in the current one.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::File { action, path: path.to_owned(), source }
}
