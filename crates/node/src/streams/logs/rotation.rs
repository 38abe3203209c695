//! The files of one log: the one that is written, and those that were put aside when they were full.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::shim::aside;

/// A file of a log, wherever it has been moved to since it was opened.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) file: File,
    inode: u64,
}

impl Part {
    fn open(path: &Path) -> io::Result<Option<Self>> {
        match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            file => {
                let file = file?;
                let inode = file.metadata()?.ino();
                Ok(Some(Self { file, inode }))
            }
        }
    }
}

/// All files of a log that are newer than `known`, oldest first.
///
/// They are opened newest first: one that is put aside meanwhile is met again under its next name, and none is missed.
pub(super) fn after(path: &Path, known: Option<&Part>) -> io::Result<VecDeque<Part>> {
    let mut parts = VecDeque::<Part>::new();
    for number in 0.. {
        match Part::open(&aside(path, number))? {
            Some(part) if known.is_some_and(|known| known.inode == part.inode) => break,
            Some(part) if parts.iter().any(|seen| seen.inode == part.inode) => {}
            Some(part) => parts.push_front(part),
            // The first is not there between the moment when it was put aside and the next line.
            None if number == 0 => {}
            None => break,
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;

    use super::*;

    fn texts(parts: VecDeque<Part>) -> Vec<String> {
        let text = |mut part: Part| {
            let mut text = String::new();
            part.file.read_to_string(&mut text).unwrap();
            text
        };
        parts.into_iter().map(text).collect()
    }

    #[test]
    fn files_are_found_by_what_they_are_and_not_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.log");
        fs::write(&path, "one").unwrap();
        let mut known = after(&path, None).unwrap();
        assert_eq!(known.len(), 1);
        assert!(after(&path, known.front()).unwrap().is_empty());
        for (number, text) in ["two", "three"].into_iter().enumerate() {
            if number > 0 {
                fs::rename(aside(&path, 1), aside(&path, 2)).unwrap();
            }
            fs::rename(&path, aside(&path, 1)).unwrap();
            fs::write(&path, text).unwrap();
        }
        assert_eq!(texts(after(&path, known.front()).unwrap()), ["two", "three"]);
        assert_eq!(texts(after(&path, None).unwrap()), ["one", "two", "three"]);
        fs::remove_file(aside(&path, 2)).unwrap();
        assert_eq!(texts(after(&path, known.front()).unwrap()), ["two", "three"]);
        assert_eq!(texts(std::mem::take(&mut known)), ["one"]);
    }
}
