//! Looks into stacked layers as overlayfs would show them, without mounting anything. Links are followed within the
//! image and nowhere else.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fgetxattr, openat, readlinkat, statat};
use rustix::io::Errno;

use super::unpack::{OPAQUE, is_whiteout};

const LINKS: usize = 40;
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

pub(super) struct Merged {
    /// Topmost first.
    roots: Vec<OwnedFd>,
}

/// What is at a path.
enum Found {
    /// The directories that overlayfs would show as one, topmost first.
    Directory(Vec<OwnedFd>),
    /// A name in one layer's directory.
    Other(OwnedFd, OsString, Stat),
}

impl Merged {
    /// Of these layers, lowest first.
    pub(super) fn of(layers: &[PathBuf]) -> io::Result<Self> {
        let open = |path: &PathBuf| Ok(openat(CWD, path, FOLDER, Mode::empty())?);
        Ok(Self { roots: layers.iter().rev().map(open).collect::<io::Result<_>>()? })
    }

    /// The content of an ordinary file, if there is one. Larger ones than `limit` are an error.
    pub(super) fn read(&self, path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(Found::Other(folder, name, _)) = self.walk(path, LINKS)? else { return Ok(None) };
        // A pipe would keep its opener waiting.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&folder, &name, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        let mut content = Vec::new();
        file.take(limit + 1).read_to_end(&mut content)?;
        if content.len() as u64 > limit {
            let message = format!("`{}` is larger than {limit} bytes", path.display());
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        Ok(Some(content))
    }

    /// The topmost of the directories at `path`, which no link leads to.
    pub(super) fn directory(&self, path: &Path) -> io::Result<Option<OwnedFd>> {
        match self.walk(path, 0) {
            Ok(Some(Found::Directory(folders))) => Ok(folders.into_iter().next()),
            Ok(_) => Ok(None),
            Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn walk(&self, path: &Path, mut links: usize) -> io::Result<Option<Found>> {
        let mut levels = vec![self.roots()?];
        let mut left: VecDeque<OsString> = parts(path);
        while let Some(part) = left.pop_front() {
            if part == ".." {
                levels.truncate(levels.len().saturating_sub(1).max(1));
                continue;
            }
            match levels.last().map(|folders| step(folders, &part)).transpose()?.flatten() {
                None => return Ok(None),
                Some(Found::Directory(folders)) => levels.push(folders),
                Some(Found::Other(folder, name, stat)) if is_link(&stat) => {
                    links = links.checked_sub(1).ok_or(Errno::LOOP)?;
                    let target = PathBuf::from(OsString::from_vec(
                        readlinkat(&folder, &name, Vec::new())?.into_bytes(),
                    ));
                    if target.is_absolute() {
                        levels.truncate(1);
                    }
                    let rest = std::mem::take(&mut left);
                    left = parts(&target).into_iter().chain(rest).collect();
                }
                Some(other) => return Ok(left.is_empty().then_some(other)),
            }
        }
        Ok(levels.pop().map(Found::Directory))
    }

    fn roots(&self) -> io::Result<Vec<OwnedFd>> {
        self.roots.iter().map(|root| root.as_fd().try_clone_to_owned()).collect()
    }
}

/// One step down: what of the name overlayfs would show.
fn step(folders: &[OwnedFd], name: &OsStr) -> io::Result<Option<Found>> {
    let mut merged = Vec::new();
    for folder in folders {
        let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(error.into()),
        };
        if is_whiteout(&stat) {
            break;
        }
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            if merged.is_empty() {
                return Ok(Some(Found::Other(folder.try_clone()?, name.to_owned(), stat)));
            }
            break;
        }
        let inner = openat(folder, name, FOLDER, Mode::empty())?;
        let hides = is_opaque(&inner)?;
        merged.push(inner);
        if hides {
            break;
        }
    }
    Ok((!merged.is_empty()).then_some(Found::Directory(merged)))
}

fn is_opaque(folder: &OwnedFd) -> io::Result<bool> {
    let mut value = [0; 8];
    match fgetxattr(folder, OPAQUE, &mut value[..]) {
        Ok(length) => Ok(&value[..length] == b"y"),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::RANGE) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn is_link(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Symlink
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let part = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::super::digest::Digest;
    use super::super::fixture::Tar;
    use super::super::limits::Limits;
    use super::super::unpack::unpack;
    use super::*;

    fn layers(tars: Vec<Tar>) -> (TempDir, Merged) {
        let folder = tempfile::tempdir().unwrap();
        let unpacked = tars.into_iter().enumerate().map(|(number, tar)| {
            let (archive, root) = (tar.finish(), folder.path().join(number.to_string()));
            fs::create_dir(&root).unwrap();
            unpack(&archive[..], &Digest::of(&archive), &root, &Limits::default()).unwrap();
            root
        });
        let merged = Merged::of(&unpacked.collect::<Vec<_>>()).unwrap();
        (folder, merged)
    }

    fn read(merged: &Merged, path: &str) -> Option<String> {
        merged.read(Path::new(path), 100).unwrap().map(|content| String::from_utf8(content).unwrap())
    }

    #[test]
    fn upper_layers_hide_lower_ones() {
        let (_folder, merged) = layers(vec![
            Tar::new().file("a", "low").file("d/kept", "low").file("d/gone", "low").file("o/x", "low"),
            Tar::new()
                .file("a", "high")
                .file("d/.wh.gone", "")
                .file("o/.wh..wh..opq", "")
                .file("o/y", "high"),
        ]);
        assert_eq!(read(&merged, "a").as_deref(), Some("high"));
        assert_eq!(read(&merged, "/d/kept").as_deref(), Some("low"));
        assert_eq!(read(&merged, "o/y").as_deref(), Some("high"));
        for hidden in ["d/gone", "o/x", "nowhere", "a/x", "d"] {
            assert_eq!(read(&merged, hidden), None, "{hidden}");
        }
    }

    #[test]
    fn links_are_followed_across_layers_and_never_out() {
        let (folder, merged) = layers(vec![
            Tar::new()
                .file("real/passwd", "inside")
                .symlink("etc", "/real")
                .symlink("up", "../../../../real"),
            Tar::new().symlink("link", "etc/passwd").symlink("circle", "circle"),
        ]);
        fs::write(folder.path().join("passwd"), "outside").unwrap();
        assert_eq!(read(&merged, "link").as_deref(), Some("inside"));
        assert_eq!(read(&merged, "up/passwd").as_deref(), Some("inside"));
        assert_eq!(read(&merged, "../passwd"), None);
        assert!(merged.read(Path::new("circle"), 100).is_err());
    }

    #[test]
    fn pipes_do_not_block_and_large_files_are_refused() {
        let (_folder, merged) = layers(vec![Tar::new().kind(b'6', "pipe").file("large", "x".repeat(101))]);
        assert_eq!(read(&merged, "pipe"), None);
        assert!(
            merged.read(Path::new("large"), 100).unwrap_err().to_string().contains("larger than 100 bytes")
        );
    }

    #[test]
    fn a_directory_is_found_only_where_no_link_leads_to_it() {
        let (_folder, merged) = layers(vec![Tar::new().directory("d/e", 0o700).symlink("l", "d")]);
        assert!(merged.directory(Path::new("d/e")).unwrap().is_some());
        assert!(merged.directory(Path::new("l/e")).unwrap().is_none());
        assert!(merged.directory(Path::new("x")).unwrap().is_none());
    }
}
