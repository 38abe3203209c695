//! Files that nobody else may read, each written whole or not at all.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
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
        sweep(path, ".")?;
        Ok(Self(path.to_owned()))
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
        replace(&self.path(name), text)
    }

    /// Writes what others are to find, unless it is there already.
    pub(super) fn publish(&self, name: &str, text: &str) -> Result<(), Error> {
        match self.read(name)? {
            Some(present) if present == text => Ok(()),
            _ => self.write(name, text),
        }
    }
}

/// Puts a private file in the place of whatever is there, so that a crash leaves the one or the other. It is ours, even
/// where there was one of somebody else: who can put a file in our way must not get to read what we write.
pub(super) fn replace_private(path: &Path, text: &str) -> Result<(), Error> {
    // Such as ~/.kube, where nobody has used kubectl yet.
    DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE_FOLDER)
        .create(parent(path))
        .map_err(failed("make the folder of", path))?;
    let path = destination(path);
    sweep(parent(&path), &format!(".{}.", file_name(&path)))?;
    replace(&path, text)
}

/// Where a link of our own leads to; the link of somebody else is replaced itself.
fn destination(path: &Path) -> PathBuf {
    let own = fs::metadata("/proc/self").ok().map(|process| process.uid());
    let link = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_symlink);
    let ours = link.is_some_and(|link| Some(link.uid()) == own);
    let followed = ours.then(|| fs::canonicalize(path).ok()).flatten();
    followed.unwrap_or_else(|| path.to_owned())
}

fn replace(path: &Path, text: &str) -> Result<(), Error> {
    let unfinished = format!(".{}.{}{UNFINISHED}", file_name(path), Uuid::new_v4());
    let unfinished = path.with_file_name(unfinished);
    let written = write_new(&unfinished, text)
        .and_then(|()| fs::rename(&unfinished, path))
        .map_err(failed("write", path));
    if written.is_err() {
        // What matters is told already; a leftover is swept at the next start.
        let _ = fs::remove_file(&unfinished);
    }
    written.and_then(|()| sync_folder(parent(path)))
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Removes what a crash has left unfinished.
fn sweep(folder: &Path, prefix: &str) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(failed("list", folder))? {
        let path = entry.map_err(failed("list", folder))?.path();
        let name = file_name(&path);
        if name.starts_with(prefix) && name.ends_with(UNFINISHED) {
            fs::remove_file(&path).map_err(failed("remove", &path))?;
        }
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
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
