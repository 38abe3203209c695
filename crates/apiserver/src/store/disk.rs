//! The file: a redb database of objects by key, and the revision they are at. A commit is whole or absent.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::backends::FileBackend;
use redb::{
    AccessGuard, Builder, Database, DatabaseError, ReadOnlyTable, ReadableDatabase, ReadableTable,
    StorageBackend, StorageError, TableDefinition, TableError,
};
use thiserror::Error;

use super::index::{Change, Index};
use super::{Entry, Key, Revision};
use crate::text::read;

/// Revision in 8 bytes, then the object as JSON.
const OBJECTS: TableDefinition<&str, &[u8]> = TableDefinition::new("objects");
const FACTS: TableDefinition<&str, u64> = TableDefinition::new("facts");
const REVISION: &str = "revision";
const FORMAT: &str = "format";

/// The layout described above. A file of another one is refused, not guessed at.
const CURRENT_FORMAT: u64 = 1;

/// Objects are served from memory; the file's own cache only has to carry a commit.
const CACHE: usize = 4 * 1024 * 1024;

const PAGE: usize = 4096;

/// Why the file cannot be used. Nothing was changed in it.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error("{} is in use by another process", .0.display())]
    InUse(PathBuf),
    #[error("cannot open {}", path.display())]
    Unusable { path: PathBuf, source: DatabaseError },
    #[error("cannot read the store")]
    Unreadable(#[source] redb::Error),
    #[error("the store has format {found}; this program reads format {CURRENT_FORMAT}")]
    Format { found: u64 },
    #[error("{key} is damaged in the store")]
    Damaged { key: Key, source: serde_json::Error },
    #[error("cannot start the thread that writes")]
    Thread(#[source] io::Error),
}

/// Why a batch does not count.
#[derive(Debug, Error)]
pub enum CommitError {
    #[error("the disk refused it")]
    Refused(#[from] redb::Error),
    #[error("the file cannot be opened again after an error")]
    Reopen(#[from] OpenError),
    #[error("the file cannot be written anew after an error")]
    Renew(#[from] io::Error),
}

type Reopen = dyn Fn() -> Result<Database, OpenError> + Send;
type Renew = dyn Fn() -> io::Result<()> + Send;

pub struct Disk {
    /// None after an error that leaves the database unusable, until it could be opened again.
    database: Option<Database>,
    reopen: Box<Reopen>,
    renew: Box<Renew>,
    /// Keys of batches that failed in a way that leaves open whether they are on disk.
    doubtful: Vec<Key>,
}

impl Disk {
    /// A file that only its owner can read: it holds Secrets.
    pub fn file(path: &Path) -> Result<Self, OpenError> {
        let (path, same) = (path.to_owned(), path.to_owned());
        Self::new(
            move || open(&path),
            move || renew(&FileBackend::new(create(&same)?).map_err(io::Error::other)?),
        )
    }

    /// A disk behind an interface, for tests that break it.
    pub fn backend<B: StorageBackend>(
        make: impl Fn() -> B + Clone + Send + 'static,
    ) -> Result<Self, OpenError> {
        let same = make.clone();
        let reopen = move || {
            let unusable = |source| OpenError::Unusable { path: "the backend".into(), source };
            builder().create_with_backend(make()).map_err(unusable)
        };
        Self::new(reopen, move || renew(&same()))
    }

    fn new(
        reopen: impl Fn() -> Result<Database, OpenError> + Send + 'static,
        renew: impl Fn() -> io::Result<()> + Send + 'static,
    ) -> Result<Self, OpenError> {
        let database = reopen()?;
        match format(&database).map_err(OpenError::Unreadable)? {
            None => initialise(&database).map_err(OpenError::Unreadable)?,
            Some(CURRENT_FORMAT) => {}
            Some(found) => return Err(OpenError::Format { found }),
        }
        let (reopen, renew) = (Box::new(reopen), Box::new(renew));
        Ok(Self { database: Some(database), reopen, renew, doubtful: Vec::new() })
    }

    pub(super) fn load(&self, history: usize) -> Result<Index, OpenError> {
        let database = self.database.as_ref().expect("a new disk has its database");
        let revision = fact(database, REVISION).map_err(OpenError::Unreadable)?;
        Ok(Index::new(objects(database)?, Revision(revision), history))
    }

    /// Writes a batch on top of what `index` holds and waits for the disk.
    pub(super) fn commit(&mut self, changes: &[Change], index: &Index) -> Result<(), CommitError> {
        let Some(last) = changes.last().map(|change| change.entry().revision) else { return Ok(()) };
        let database = match self.database.take() {
            Some(database) => database,
            None => self.recovered(index)?,
        };
        let Err(error) = write(&database, changes, last) else {
            self.database = Some(database);
            return Ok(());
        };
        // The database refuses to go on, and whether the commit got through shows only when it is opened again.
        drop(database);
        self.doubtful.extend(changes.iter().map(|change| change.entry().key.clone()));
        let database = self.recovered(index)?;
        self.database = Some(database);
        Err(error.into())
    }

    /// The database opened again, without what was answered with an error and may have got through all the same.
    fn recovered(&mut self, index: &Index) -> Result<Database, CommitError> {
        let database = (self.reopen)()?;
        // Under the lock of the database, of which nothing is under way.
        (self.renew)()?;
        if fact(&database, REVISION)? != index.revision().0 {
            undo(&database, &self.doubtful, index)?;
        }
        self.doubtful.clear();
        Ok(database)
    }
}

fn open(path: &Path) -> Result<Database, OpenError> {
    let unusable = |source| OpenError::Unusable { path: path.to_owned(), source };
    let file = create(path).map_err(|source| unusable(source.into()))?;
    builder().create_file(file).map_err(|source| match source {
        DatabaseError::DatabaseAlreadyOpen => OpenError::InUse(path.to_owned()),
        source => unusable(source),
    })
}

/// A file is there after a power loss only if its folder was synced too, which whoever made it may not have come to.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(file)
}

/// Writes all pages again and waits for the disk. After a failed fsync the kernel takes pages for written that are not:
/// they read well, and the next fsync passes them over.
fn renew(storage: &impl StorageBackend) -> io::Result<()> {
    let (length, mut offset, mut page) = (storage.len()?, 0, [0; PAGE]);
    while offset < length {
        let page = &mut page[..usize::try_from(length - offset).map_or(PAGE, |left| left.min(PAGE))];
        storage.read(offset, page)?;
        // Nothing is kept in a page of zeros, and there may be no room for what is a hole in the file.
        if page.iter().any(|byte| *byte != 0) {
            storage.write(offset, page)?;
        }
        offset += page.len() as u64;
    }
    storage.sync_data()
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE);
    builder
}

/// None for a file that was just made.
fn format(database: &Database) -> Result<Option<u64>, redb::Error> {
    let facts = match database.begin_read()?.open_table(FACTS) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(None),
        facts => facts?,
    };
    Ok(facts.get(FORMAT)?.map(|value| value.value()))
}

fn initialise(database: &Database) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        transaction.open_table(OBJECTS)?;
        let mut facts = transaction.open_table(FACTS)?;
        facts.insert(FORMAT, CURRENT_FORMAT)?;
        facts.insert(REVISION, 0)?;
    }
    Ok(transaction.commit()?)
}

fn fact(database: &Database, name: &str) -> Result<u64, redb::Error> {
    let facts = database.begin_read()?.open_table(FACTS)?;
    Ok(facts.get(name)?.map(|value| value.value()).unwrap_or_default())
}

fn objects(database: &Database) -> Result<BTreeMap<Key, Arc<Entry>>, OpenError> {
    let unreadable = |error: redb::Error| OpenError::Unreadable(error);
    let table = table(database).map_err(unreadable)?;
    let rows = table.iter().map_err(|error| unreadable(error.into()))?;
    let row = |row: Result<(AccessGuard<'_, &str>, AccessGuard<'_, &[u8]>), StorageError>| {
        let (key, row) = row.map_err(|error| unreadable(error.into()))?;
        let entry = entry(Key::from_text(key.value()), row.value())?;
        Ok((entry.key.clone(), entry))
    };
    rows.map(row).collect()
}

fn table(database: &Database) -> Result<ReadOnlyTable<&'static str, &'static [u8]>, redb::Error> {
    Ok(database.begin_read()?.open_table(OBJECTS)?)
}

fn entry(key: Key, row: &[u8]) -> Result<Arc<Entry>, OpenError> {
    let (revision, json) = row.split_first_chunk().unwrap_or((&[0; 8], &[]));
    match read(json) {
        Ok(object) => Ok(Entry::of(key, Revision(u64::from_be_bytes(*revision)), &object)),
        Err(source) => Err(OpenError::Damaged { key, source }),
    }
}

fn write(database: &Database, changes: &[Change], revision: Revision) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut objects = transaction.open_table(OBJECTS)?;
        for change in changes {
            match change {
                Change::Put(entry) => drop(objects.insert(entry.key.as_text(), row(entry).as_slice())?),
                Change::Delete(entry) => drop(objects.remove(entry.key.as_text())?),
            }
        }
        transaction.open_table(FACTS)?.insert(REVISION, revision.0)?;
    }
    Ok(transaction.commit()?)
}

/// Puts doubtful keys back to what readers were shown.
fn undo(database: &Database, doubtful: &[Key], index: &Index) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut objects = transaction.open_table(OBJECTS)?;
        for key in doubtful {
            match index.get(key) {
                Some(entry) => drop(objects.insert(key.as_text(), row(entry).as_slice())?),
                None => drop(objects.remove(key.as_text())?),
            }
        }
        transaction.open_table(FACTS)?.insert(REVISION, index.revision().0)?;
    }
    Ok(transaction.commit()?)
}

fn row(entry: &Entry) -> Vec<u8> {
    [entry.revision.0.to_be_bytes().as_slice(), &entry.text.json()[..]].concat()
}
