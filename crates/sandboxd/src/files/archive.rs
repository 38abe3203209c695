//! Whole trees as tar, both ways. Only files, directories and links; extensions that name them are read up to a bound, everything
//! else is refused. Where entries go is resolved one by one below the root, so no archive writes anywhere else.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, OFlags, linkat, readlinkat, unlinkat};
use rustix::io::Errno;
use tar::{Archive, Builder, Entry, EntryType, Header, PaxExtensions};

use super::facts::{Facts, Kind};
use super::path::{self, Inside};
use super::root::Root;
use super::transfer::{make_directory, put_link};
use super::upload::Upload;
use super::walk::{Follow, Missing, Place};
use crate::failure::{Code, Failure};

/// The longest name, or list of names, that an extension may carry.
const LARGEST_EXTENSION: u64 = 64 * 1024;
const DEEPEST: usize = 128;

/// What an entry is called, when its own header is too small for it.
#[derive(Default)]
struct LongNames {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
}

/// Writes what is below a directory, or a file alone. Pipes, sockets and devices are left out.
pub(crate) fn pack(root: &Root, inside: &Inside, output: impl Write) -> Result<(), Failure> {
    let failed = |errno| Failure::of(errno, &format!("packing {}", inside.shown()));
    let file = root.get(inside, OFlags::RDONLY | OFlags::NONBLOCK).map_err(failed)?;
    let facts = Facts::of(&rustix::fs::fstat(&file).map_err(failed)?);
    let mut builder = Builder::new(output);
    match (facts.kind, inside.names().last()) {
        (Kind::Directory, _) => pack_directory(&mut builder, &file, Path::new(""), 0)?,
        (Kind::File, Some(name)) => pack_file(&mut builder, file, &facts, Path::new(name))?,
        _ => return Err(Failure::invalid(format!("{} is neither file nor directory", inside.shown()))),
    }
    builder.finish()?;
    Ok(())
}

fn pack_directory(
    builder: &mut Builder<impl Write>,
    directory: &OwnedFd,
    at: &Path,
    depth: usize,
) -> io::Result<()> {
    if depth > DEEPEST {
        return Err(Errno::NAMETOOLONG.into());
    }
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        names.push(path::name(entry?.file_name().to_bytes()));
    }
    names.retain(|name| name != "." && name != "..");
    names.sort();
    for name in names {
        let place = Place { directory: directory.as_fd().try_clone_to_owned()?, name: Some(name.clone()) };
        match pack_entry(builder, &place, &at.join(name), depth) {
            // Gone meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(())
}

fn pack_entry(builder: &mut Builder<impl Write>, place: &Place, at: &Path, depth: usize) -> io::Result<()> {
    let facts = Facts::of(&place.stat()?);
    match facts.kind {
        Kind::File => {
            let file = place.open(OFlags::RDONLY | OFlags::NONBLOCK)?;
            pack_file(builder, file, &facts, at)
        }
        Kind::Link => {
            let name = place.name.as_deref().unwrap_or_default();
            let target = readlinkat(&place.directory, name, Vec::new())?;
            let target = PathBuf::from(path::name(target.as_bytes()));
            builder.append_link(&mut header(&facts, EntryType::Symlink, 0), at, target)
        }
        Kind::Directory => {
            builder.append_data(&mut header(&facts, EntryType::Directory, 0), at, io::empty())?;
            let directory = place.open(OFlags::RDONLY | OFlags::DIRECTORY)?;
            pack_directory(builder, &directory, at, depth + 1)
        }
        Kind::Other => Ok(()),
    }
}

/// As long as it was when it was looked at: one that grows is cut, one that shrinks is filled up with zeros, as tar does.
fn pack_file(builder: &mut Builder<impl Write>, file: OwnedFd, facts: &Facts, at: &Path) -> io::Result<()> {
    let content = File::from(file).chain(io::repeat(0)).take(facts.size);
    builder.append_data(&mut header(facts, EntryType::Regular, facts.size), at, content)
}

fn header(facts: &Facts, kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(facts.mode);
    header.set_mtime(facts.modified.as_secs());
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// Writes what an archive holds below a directory, over what is there. At most so many entries, of any kind: what they cost is not
/// their bytes alone.
pub(crate) fn unpack(root: &Root, inside: &Inside, input: impl Read, most: u64) -> Result<(), Failure> {
    let mut archive = Archive::new(input);
    let mut names = LongNames::default();
    for (number, entry) in (0..).zip(archive.entries().map_err(broken)?.raw(true)) {
        if number >= most {
            return Err(Failure::new(
                Code::TooLarge,
                format!("the archive has more than {most} entries, and that is the limit"),
            ));
        }
        let mut entry = entry.map_err(broken)?;
        match entry.header().entry_type() {
            EntryType::GNULongName => names.path = Some(text(&mut entry)?),
            EntryType::GNULongLink => names.link = Some(text(&mut entry)?),
            EntryType::XHeader => names.read_pax(&extension(&mut entry)?)?,
            EntryType::XGlobalHeader => drop(extension(&mut entry)?),
            _ => unpack_entry(root, inside, &mut entry, std::mem::take(&mut names))?,
        }
    }
    // Programs fill archives up with zeros, and expect that somebody reads those.
    io::copy(&mut archive.into_inner(), &mut io::sink())?;
    Ok(())
}

/// What is no error of the kernel is one of whoever wrote the archive.
fn broken(error: io::Error) -> Failure {
    match error.raw_os_error() {
        Some(_) => Failure::from(error),
        None => Failure::invalid(format!("the archive is broken: {error}")),
    }
}

impl LongNames {
    fn read_pax(&mut self, list: &[u8]) -> Result<(), Failure> {
        for record in PaxExtensions::new(list) {
            let record = record.map_err(broken)?;
            match record.key_bytes() {
                b"path" => self.path = Some(record.value_bytes().to_vec()),
                b"linkpath" => self.link = Some(record.value_bytes().to_vec()),
                b"size" => return Err(refused("a file of 8 GiB or more in the POSIX format")),
                key if key.starts_with(b"GNU.sparse.") => return Err(refused("a sparse file")),
                _ => {}
            }
        }
        Ok(())
    }
}

fn extension(entry: &mut Entry<impl Read>) -> Result<Vec<u8>, Failure> {
    if entry.size() > LARGEST_EXTENSION {
        return Err(refused("a name of more than 64 KiB"));
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).map_err(broken)?;
    Ok(bytes)
}

/// A name of GNU tar ends with a zero.
fn text(entry: &mut Entry<impl Read>) -> Result<Vec<u8>, Failure> {
    let mut bytes = extension(entry)?;
    bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
    Ok(bytes)
}

fn refused(what: &str) -> Failure {
    Failure::invalid(format!("the archive has {what} in it, which is not served"))
}

fn unpack_entry(
    root: &Root,
    inside: &Inside,
    entry: &mut Entry<impl Read>,
    names: LongNames,
) -> Result<(), Failure> {
    let path = names.path.unwrap_or_else(|| entry.header().path_bytes().into_owned());
    let link = names.link.or_else(|| entry.header().link_name_bytes().map(std::borrow::Cow::into_owned));
    let at = below(inside, &path)?;
    let mode = entry.header().mode().map_err(broken)? & 0o7777;
    match entry.header().entry_type() {
        EntryType::Regular | EntryType::Continuous => unpack_file(root, &at, entry, mode),
        EntryType::Directory => match make_directory(root, &at, mode) {
            Err(failure) if failure.code == Code::Conflict => Ok(()),
            other => other,
        },
        EntryType::Symlink => unpack_link(root, &at, link.unwrap_or_default()),
        EntryType::Link => unpack_hard_link(root, &at, &below(inside, &link.unwrap_or_default())?),
        _ => Err(refused("a device, a pipe or a sparse file")),
    }
}

fn below(inside: &Inside, path: &[u8]) -> Result<Inside, Failure> {
    let path = Inside::parse(path)?;
    if path.climbed() {
        return Err(refused("a path that leads out"));
    }
    Ok(path.names().iter().fold(inside.clone(), |inside, name| inside.child(name)))
}

fn unpack_file(root: &Root, at: &Inside, entry: &mut Entry<impl Read>, mode: u32) -> Result<(), Failure> {
    let mut upload = Upload::begin(root, at, mode)?;
    let written = io::copy(entry, upload.file()).map_err(broken)?;
    if written < entry.size() {
        return Err(Failure::invalid(format!("the archive ends within {}", at.shown())));
    }
    upload.finish()
}

fn unpack_link(root: &Root, at: &Inside, target: Vec<u8>) -> Result<(), Failure> {
    let failed = |errno| Failure::of(errno, &format!("writing {}", at.shown()));
    let target = CString::new(target).map_err(|_| refused("a link with a zero byte"))?;
    let place = root.place(at, Follow::Parents, Missing::Made).map_err(failed)?;
    put_link(&target, &place).map_err(failed)
}

fn unpack_hard_link(root: &Root, at: &Inside, target: &Inside) -> Result<(), Failure> {
    let failed = |errno| Failure::of(errno, &format!("writing {}", at.shown()));
    let from = root.place(target, Follow::Parents, Missing::Fails).map_err(failed)?;
    let to = root.place(at, Follow::Parents, Missing::Made).map_err(failed)?;
    let (Some(old), Some(new)) = (&from.name, &to.name) else { return Err(failed(Errno::ISDIR)) };
    match unlinkat(&to.directory, new, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(failed(errno)),
    }
    linkat(&from.directory, old, &to.directory, new, AtFlags::empty()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use proptest::prelude::*;

    use super::*;

    const MOST: u64 = 100;

    fn home() -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("root")).unwrap();
        let root = Root::open(&directory.path().join("root")).unwrap();
        (directory, root)
    }

    fn packed(entries: &[(EntryType, &str, &str)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (kind, path, content) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(0o644);
            // Not by the builder, which refuses what we want to see refused.
            header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
            let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
            if is_link {
                header.as_gnu_mut().unwrap().linkname[..content.len()].copy_from_slice(content.as_bytes());
            }
            let data = if is_link { "" } else { content };
            header.set_size(data.len() as u64);
            header.set_cksum();
            builder.append(&header, data.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn a_tree_comes_back_as_it_was() {
        let (_home, root) = home();
        let long = format!("a/{}", "n".repeat(200));
        fs::create_dir(root.path().join("a")).unwrap();
        fs::write(root.path().join(&long), "text").unwrap();
        fs::set_permissions(root.path().join(&long), fs::Permissions::from_mode(0o751)).unwrap();
        symlink("l".repeat(150), root.path().join("a/link")).unwrap();
        let mut archive = Vec::new();
        pack(&root, &Inside::parse(b"a").unwrap(), &mut archive).unwrap();
        unpack(&root, &Inside::parse(b"b").unwrap(), &archive[..], MOST).unwrap();
        let file = root.path().join(long.replacen('a', "b", 1));
        assert_eq!(fs::read_to_string(&file).unwrap(), "text");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o751);
        assert_eq!(fs::read_link(root.path().join("b/link")).unwrap().as_os_str().len(), 150);
    }

    #[test]
    fn no_archive_writes_outside() {
        let (directory, root) = home();
        for entries in [
            &[(EntryType::Regular, "../out", "x")][..],
            &[(EntryType::Symlink, "up", ".."), (EntryType::Regular, "up/out", "x")],
            &[(EntryType::Symlink, "abs", "/tmp"), (EntryType::Regular, "abs/asb-sandboxd-out", "x")],
            &[(EntryType::Link, "hard", "../secret")],
        ] {
            assert!(unpack(&root, &Inside::root(), &packed(entries)[..], MOST).is_err(), "{entries:?}");
        }
        assert!(!directory.path().join("out").exists() && !Path::new("/tmp/asb-sandboxd-out").exists());
    }

    #[test]
    fn devices_are_refused_and_links_made() {
        let (_home, root) = home();
        for kind in [EntryType::Char, EntryType::Block, EntryType::Fifo, EntryType::GNUSparse] {
            assert!(unpack(&root, &Inside::root(), &packed(&[(kind, "odd", "")])[..], MOST).is_err());
        }
        let linked = packed(&[(EntryType::Regular, "one", "x"), (EntryType::Link, "two", "one")]);
        unpack(&root, &Inside::root(), &linked[..], MOST).unwrap();
        assert_eq!(fs::read_to_string(root.path().join("two")).unwrap(), "x");
    }

    #[test]
    fn there_are_only_so_many_entries() {
        let (_home, root) = home();
        let archive = packed(&[(EntryType::Regular, "one", ""), (EntryType::Regular, "two", "")]);
        assert_eq!(unpack(&root, &Inside::root(), &archive[..], 1).unwrap_err().code, Code::TooLarge);
        assert!(unpack(&root, &Inside::root(), &archive[..], 2).is_ok());
    }

    #[test]
    fn a_file_that_is_cut_off_is_not_written() {
        let (_home, root) = home();
        let archive = packed(&[(EntryType::Regular, "file", "text")]);
        assert!(unpack(&root, &Inside::root(), &archive[..514], MOST).is_err());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_stands_behind_an_archive_is_read() {
        let (_home, root) = home();
        let archive = packed(&[(EntryType::Regular, "file", "text")]);
        let mut input = &[archive, vec![0; 10_000]].concat()[..];
        unpack(&root, &Inside::root(), &mut input, MOST).unwrap();
        assert!(input.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn nothing_breaks_it(flips in proptest::collection::vec((0_usize..3000, any::<u8>()), 0..20)) {
            let (_home, root) = home();
            let mut archive = packed(&[(EntryType::Directory, "d", ""), (EntryType::Regular, "d/f", "text")]);
            let length = archive.len();
            for (at, byte) in &flips {
                archive[at % length] = *byte;
            }
            let _ = unpack(&root, &Inside::root(), &archive[..], MOST);
        }
    }
}
