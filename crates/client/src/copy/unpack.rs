//! Takes an archive apart that somebody made who is not trusted. Nothing is written outside the target: names that lead
//! out of it end the copy, links and devices are left out, and nothing is written through a link that is there already.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use tar::{Archive, Entry, EntryType};

use super::Copied;

/// Unpacks what is called `base` in the archive as `target`.
pub(super) fn unpack(archive: impl Read, base: &str, target: &Path) -> io::Result<Copied> {
    let mut archive = Archive::new(archive);
    let mut copied = Copied::default();
    for entry in archive.entries()? {
        unpack_entry(&mut entry?, base, target, &mut copied)?;
    }
    // Archives end with padding, and whoever writes it may not find us gone.
    io::copy(&mut archive.into_inner(), &mut io::sink())?;
    Ok(copied)
}

fn unpack_entry<R: Read>(
    entry: &mut Entry<'_, R>,
    base: &str,
    target: &Path,
    copied: &mut Copied,
) -> io::Result<()> {
    let name = entry.path()?.into_owned();
    let below = below(&name, base)?;
    let mode = entry.header().mode().unwrap_or(0o644) & 0o777;
    match entry.header().entry_type() {
        EntryType::Directory => directory(target, &below),
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
            let place = place(target, &below)?;
            let mut file = fresh(&place)?;
            copied.bytes += io::copy(entry, &mut file)?;
            copied.files += 1;
            file.set_permissions(Permissions::from_mode(mode | 0o200))
        }
        kind => {
            copied.skipped.push(format!("{}: {}", name.display(), word(kind)));
            Ok(())
        }
    }
}

fn word(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Symlink | EntryType::Link => "links are not copied out of a sandbox",
        _ => "neither file nor directory",
    }
}

/// The way of an entry below what was asked for.
fn below(name: &Path, base: &str) -> io::Result<PathBuf> {
    let hostile =
        || io::Error::other(format!("the archive names {:?}, which was not asked for", name.display()));
    let mut parts = Vec::new();
    for part in name.components() {
        match part {
            Component::Normal(part) => parts.push(part),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(hostile()),
        }
    }
    if base == "." {
        return Ok(parts.iter().collect());
    }
    match parts.split_first() {
        Some((first, rest)) if *first == base => Ok(rest.iter().collect()),
        _ => Err(hostile()),
    }
}

/// Makes a directory below the target and all on the way to it, none of which may be a link.
fn directory(target: &Path, below: &Path) -> io::Result<()> {
    if !target.is_dir() {
        fs::create_dir(target)?;
    }
    let mut path = target.to_owned();
    for part in below.components() {
        path.push(part);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(in_the_way(&path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&path)?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Where a file goes: the target itself, or below it.
fn place(target: &Path, below: &Path) -> io::Result<PathBuf> {
    if below.as_os_str().is_empty() {
        return Ok(target.to_owned());
    }
    directory(target, below.parent().unwrap_or(Path::new("")))?;
    Ok(target.join(below))
}

/// A file that was not there: whatever bears its name goes, and nothing is written through it.
fn fresh(path: &Path) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => return Err(in_the_way(path)),
        Ok(_) => fs::remove_file(path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    OpenOptions::new().write(true).create_new(true).open(path)
}

fn in_the_way(path: &Path) -> io::Error {
    io::Error::other(format!("{} is in the way", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tar::{Builder, Header};

    use super::*;

    /// An archive with names as they are, which no honest `tar` would make.
    fn archive(entries: &[(EntryType, &str, &str)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (kind, name, content) in entries {
            let mut header = Header::new_gnu();
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(*kind);
            header.set_mode(0o4755);
            let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
            if is_link {
                header.set_link_name(content).unwrap();
            }
            let data = if is_link { "" } else { content };
            header.set_size(data.len() as u64);
            header.set_cksum();
            builder.append(&header, data.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn file<'a>(name: &'a str, content: &'a str) -> (EntryType, &'a str, &'a str) {
        (EntryType::Regular, name, content)
    }

    #[test]
    fn a_tree_is_written_as_the_target() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        let archive =
            archive(&[(EntryType::Directory, "./src", ""), file("./src/a/b", "text"), file("./src/c", "")]);
        let copied = unpack(&*archive, "src", &target).unwrap();
        assert_eq!(fs::read_to_string(target.join("a/b")).unwrap(), "text");
        assert_eq!((copied.files, copied.bytes, copied.skipped.len()), (2, 4, 0));
        let mode = fs::metadata(target.join("a/b")).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o755, "no privileges come along");
    }

    #[test]
    fn a_file_takes_the_name_of_the_target() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("copy");
        unpack(&*archive(&[file("./hosts", "text")]), "hosts", &target).unwrap();
        assert_eq!(fs::read_to_string(target).unwrap(), "text");
    }

    #[test]
    fn names_that_lead_out_or_were_not_asked_for_end_the_copy() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        for name in ["src/../../evil", "../evil", "/evil", "other/evil", "./../src/x"] {
            let refused = unpack(&*archive(&[file(name, "x")]), "src", &target).unwrap_err();
            assert!(refused.to_string().contains("was not asked for"), "{name}: {refused}");
        }
        assert!(!place.path().join("evil").exists());
    }

    #[test]
    fn links_are_left_out_so_nothing_is_written_through_them() {
        let place = tempfile::tempdir().unwrap();
        let (target, outside) = (place.path().join("out"), place.path().join("outside"));
        fs::create_dir(&outside).unwrap();
        let link = outside.display().to_string();
        let archive = archive(&[
            (EntryType::Directory, "src", ""),
            (EntryType::Symlink, "src/link", &link),
            (EntryType::Link, "src/hard", "/etc/passwd"),
            (EntryType::Char, "src/null", ""),
            file("src/link/evil", "x"),
        ]);
        let copied = unpack(&*archive, "src", &target).unwrap();
        assert_eq!(copied.skipped.len(), 3);
        assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
        assert!(target.join("link/evil").is_file(), "a directory of that name was made instead");
    }

    #[test]
    fn a_link_that_is_there_already_is_not_written_through() {
        let place = tempfile::tempdir().unwrap();
        let (target, outside) = (place.path().join("out"), place.path().join("outside"));
        fs::create_dir_all(&target).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&outside, target.join("link")).unwrap();
        let refused = unpack(&*archive(&[file("src/link/evil", "x")]), "src", &target).unwrap_err();
        assert!(refused.to_string().contains("is in the way"), "{refused}");
        symlink(outside.join("file"), target.join("file")).unwrap();
        unpack(&*archive(&[file("src/file", "x")]), "src", &target).unwrap();
        assert!(!outside.join("file").exists() && !target.join("file").is_symlink());
    }
}
