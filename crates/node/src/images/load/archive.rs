//! Files within an archive, found once and then read from where they lie. A compressed archive is unpacked first, since
//! its files come in any order.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path};

use super::super::limits::Limits;
use super::super::store::{Spool, Store};
use super::super::unpack::{Archive, Decoder, Kind, UnpackError};
use super::{Files, LoadError, malformed};

const MOST_FILES: u64 = 100_000;
const LINKS: usize = 8;

pub(super) struct Archived {
    file: File,
    places: HashMap<String, Place>,
    /// Where a compressed archive was unpacked to.
    _spool: Option<Spool>,
}

enum Place {
    Span {
        start: u64,
        length: u64,
    },
    /// Docker writes a layer that many images have once, and links to it elsewhere.
    Link(String),
}

impl Archived {
    pub(super) fn open(path: &Path, store: &Store, limits: &Limits) -> Result<Self, LoadError> {
        let failed = |source| LoadError::Read { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(failed)?;
        let mut decoder = Decoder::new(&mut file).map_err(failed)?;
        let spool = if decoder.is_plain() {
            None
        } else {
            let mut spool = store.spool()?;
            let limit = limits.layer_bytes;
            let copied = io::copy(&mut (&mut decoder).take(limit + 1), spool.file()).map_err(failed)?;
            if copied > limit {
                return Err(failed(io::Error::other(format!("it unpacks to more than {limit} bytes"))));
            }
            Some(spool)
        };
        drop(decoder);
        if let Some(spool) = &spool {
            file = spool.reopen()?;
        }
        let places = places(&file, limits).map_err(|error| failed(io::Error::other(error)))?;
        Ok(Self { file, places, _spool: spool })
    }
}

/// Reads through all of it, since only then the last of many files of one name is known.
fn places(file: &File, limits: &Limits) -> Result<HashMap<String, Place>, UnpackError> {
    let limits = Limits { entries: MOST_FILES, ..limits.clone() };
    let mut archive = Archive::new(Span { file, at: 0, end: u64::MAX }, &limits);
    let mut places = HashMap::new();
    while let Some(entry) = archive.next()? {
        let Some(name) = clean(Path::new(""), OsStr::from_bytes(&entry.name).as_ref()) else { continue };
        let link =
            |target: &[u8], from: &Path| clean(from, OsStr::from_bytes(target).as_ref()).map(Place::Link);
        let place = match &entry.kind {
            Kind::File(length) => Some(Place::Span { start: archive.reader().at, length: *length }),
            Kind::Symlink(target) => link(target, Path::new(&name).parent().unwrap_or(Path::new(""))),
            Kind::HardLink(target) => link(target, Path::new("")),
            _ => None,
        };
        places.extend(place.map(|place| (name, place)));
    }
    Ok(places)
}

/// A path without detours; nothing for one that leads out.
fn clean(from: &Path, path: &Path) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    for component in from.components().chain(path.components()) {
        match component {
            Component::Normal(part) => parts.push(part.to_str()?.to_owned()),
            Component::ParentDir => drop(parts.pop()?),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

impl Files for Archived {
    fn open(&self, name: &str) -> Result<Option<Box<dyn Read + Send + '_>>, LoadError> {
        let Some(mut place) = clean(Path::new(""), Path::new(name)) else { return Ok(None) };
        for _ in 0..LINKS {
            match self.places.get(&place) {
                None => return Ok(None),
                Some(Place::Link(target)) => place.clone_from(target),
                Some(Place::Span { start, length }) => {
                    return Ok(Some(Box::new(Span { file: &self.file, at: *start, end: start + length })));
                }
            }
        }
        Err(malformed(name, "it is a link without end"))
    }
}

/// A stretch of a file, which others read at the same time.
struct Span<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Span<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.file.read_at(&mut buffer[..left], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}
