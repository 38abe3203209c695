//! Makes an archive of a file or directory of here.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;

use tar::{Builder, EntryType, Header};

use super::Copied;

/// Writes the archive, in which it bears a name of its own.
pub(super) fn pack(source: &Path, name: &str, out: impl Write) -> io::Result<Copied> {
    let mut builder = Builder::new(out);
    let mut copied = Copied::default();
    append(&mut builder, source, Path::new(name), &mut copied)?;
    builder.into_inner()?.flush()?;
    Ok(copied)
}

/// The one that was named is followed where it is a link; links below it stay links.
fn append<W: Write>(
    builder: &mut Builder<W>,
    source: &Path,
    name: &Path,
    copied: &mut Copied,
) -> io::Result<()> {
    append_as(builder, source, name, &fs::metadata(source)?, copied)
}

fn append_as<W: Write>(
    builder: &mut Builder<W>,
    source: &Path,
    name: &Path,
    metadata: &Metadata,
    copied: &mut Copied,
) -> io::Result<()> {
    let kind = metadata.file_type();
    if kind.is_dir() {
        return directory(builder, source, name, metadata, copied);
    }
    if kind.is_symlink() {
        let target = fs::read_link(source)?;
        return builder.append_link(&mut header(metadata, EntryType::Symlink, 0), name, target);
    }
    if kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device() {
        copied.skipped.push(format!("{}: neither file, directory nor link", source.display()));
        return Ok(());
    }
    let file = File::open(source)?;
    let length = metadata.len();
    // A file that grows meanwhile is copied as long as it was, and one that shrinks cannot be.
    builder.append_data(
        &mut header(metadata, EntryType::Regular, length),
        name,
        Whole { file, left: length },
    )?;
    copied.files += 1;
    copied.bytes += length;
    Ok(())
}

fn directory<W: Write>(
    builder: &mut Builder<W>,
    source: &Path,
    name: &Path,
    metadata: &Metadata,
    copied: &mut Copied,
) -> io::Result<()> {
    if name != Path::new(".") {
        builder.append_data(&mut header(metadata, EntryType::Directory, 0), name, io::empty())?;
    }
    let mut entries = fs::read_dir(source)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let below = name.join(entry.file_name());
        append_as(builder, &entry.path(), &below, &fs::symlink_metadata(entry.path())?, copied)?;
    }
    Ok(())
}

/// Nobody of here owns anything there.
fn header(metadata: &Metadata, kind: EntryType, length: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(length);
    header.set_mode(metadata.permissions().mode() & 0o777);
    header.set_mtime(u64::try_from(metadata.mtime()).unwrap_or_default());
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// Exactly as many bytes of a file as were announced.
struct Whole {
    file: File,
    left: u64,
}

impl Read for Whole {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = (&mut self.file).take(self.left).read(buffer)?;
        if read == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "a file became shorter while it was read",
            ));
        }
        self.left -= read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(archive: &[u8]) -> Vec<String> {
        let mut archive = tar::Archive::new(archive);
        let describe = |entry: io::Result<tar::Entry<'_, &[u8]>>| {
            let entry = entry.unwrap();
            format!("{:?} {}", entry.header().entry_type(), entry.path().unwrap().display())
        };
        archive.entries().unwrap().map(describe).collect()
    }

    #[test]
    fn a_directory_goes_under_its_new_name_with_links_as_links() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("sub")).unwrap();
        fs::write(place.path().join("sub/file"), "text").unwrap();
        std::os::unix::fs::symlink("sub/file", place.path().join("link")).unwrap();
        let mut archive = Vec::new();
        let copied = pack(place.path(), "new", &mut archive).unwrap();
        assert_eq!(
            names(&archive),
            ["Directory new", "Symlink new/link", "Directory new/sub", "Regular new/sub/file"]
        );
        assert_eq!((copied.files, copied.bytes), (1, 4));
    }

    #[test]
    fn the_contents_of_a_directory_go_without_it() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("file"), "text").unwrap();
        let mut archive = Vec::new();
        pack(place.path(), ".", &mut archive).unwrap();
        assert_eq!(names(&archive), ["Regular file"]);
    }

    #[test]
    fn long_names_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let name = "x".repeat(200);
        fs::write(place.path().join(&name), "").unwrap();
        let mut archive = Vec::new();
        pack(place.path(), "d", &mut archive).unwrap();
        assert!(names(&archive).contains(&format!("Regular d/{name}")));
    }
}
