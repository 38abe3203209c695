//! Fetches one blob into a file, and goes on where an earlier attempt broke off. The content is checked while it comes.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

use super::super::digest::{Digest, Hasher};
use super::super::manifest::Descriptor;
use super::super::registry::{RegistryError, Remote};
use super::source::{self, Sources};
use super::{PullFailure, Puller};

/// So much of a blob that an attempt counts as one that got further.
const ADVANCE: u64 = 64 << 10;
const BUFFER: usize = 64 << 10;

/// A file that grows up to a known size and digest.
struct Partial<'a> {
    path: PathBuf,
    blob: &'a Descriptor,
    file: File,
    hasher: Hasher,
    length: u64,
    /// Some of it was here before, so that a wrong digest may be the file's fault.
    inherited: bool,
}

impl Puller {
    /// The blob, whole and checked. `report` hears how much of it is here.
    pub(super) async fn fetch_blob(
        &self,
        sources: &Sources,
        blob: &Descriptor,
        report: impl Fn(u64),
    ) -> Result<std::fs::File, PullFailure> {
        let turn = self.turn(&blob.digest);
        let _turn = turn.lock().await;
        let path = self.store.partial(&blob.digest);
        let mut failures = Vec::new();
        for (index, remote) in sources.in_order() {
            match self.fetch_from(remote, blob, &path, &report).await {
                Ok(file) => {
                    sources.is_good(index);
                    return Ok(file);
                }
                // Another place does not help against a full disk.
                Err(error @ PullFailure::Disk { .. }) => return Err(error),
                Err(error) => {
                    tracing::debug!(%error, host = remote.host(), digest = %blob.digest, "a blob was not fetched");
                    failures.push((index, error));
                }
            }
        }
        Err(source::telling(failures))
    }

    fn turn(&self, digest: &Digest) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(digest.clone()).or_default())
    }

    async fn fetch_from(
        &self,
        remote: &Remote,
        blob: &Descriptor,
        path: &Path,
        report: &impl Fn(u64),
    ) -> Result<std::fs::File, PullFailure> {
        let mut partial = Partial::open(path, blob).await?;
        let mut failures = 0;
        loop {
            report(partial.length);
            let before = partial.length;
            let error = match partial.advance(remote, report).await {
                Ok(()) => match partial.check(remote.host()).await? {
                    Checked::Good => return partial.into_file().await,
                    Checked::Again => continue,
                },
                Err(PullFailure::Registry(error)) if error.is_passing() => error,
                Err(other) => return Err(other),
            };
            failures = if partial.length >= before + ADVANCE { 1 } else { failures + 1 };
            let Some(wait) = self.settings.retry.wait(failures, error.after()) else {
                return Err(error.into());
            };
            tracing::debug!(%error, ?wait, at = partial.length, "a download goes on after a pause");
            tokio::time::sleep(wait).await;
        }
    }
}

enum Checked {
    Good,
    Again,
}

impl<'a> Partial<'a> {
    async fn open(path: &Path, blob: &'a Descriptor) -> Result<Self, PullFailure> {
        let failed = |source| PullFailure::Disk { path: path.to_owned(), source };
        let options = || OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
        let mut file = options().open(path).await.map_err(failed)?;
        let mut hasher = blob.digest.hasher();
        let length = hash(&mut file, &mut hasher, blob.size).await.map_err(failed)?;
        let mut partial = Self { path: path.to_owned(), blob, file, hasher, length, inherited: length > 0 };
        if length > blob.size {
            partial.restart().await?;
        }
        Ok(partial)
    }

    /// Adds what is missing, as far as the registry gives it.
    async fn advance(&mut self, remote: &Remote, report: &impl Fn(u64)) -> Result<(), PullFailure> {
        if self.length == self.blob.size {
            return Ok(());
        }
        let mut part = match remote.part(&self.blob.digest, self.length, self.blob.size).await {
            // A registry that does not know the rest does not know what we have either.
            Err(RegistryError::Refused { status: 416, .. }) if self.length > 0 => {
                self.restart().await?;
                remote.part(&self.blob.digest, 0, self.blob.size).await?
            }
            part => part?,
        };
        if part.start != self.length {
            self.restart().await?;
        }
        while let Some(bytes) = part.next().await? {
            self.append(remote.host(), &bytes).await?;
            report(self.length);
        }
        self.file.flush().await.map_err(|source| self.failed(source))?;
        if self.length < self.blob.size {
            let reason = format!("the answer ended after {} of {} bytes", self.length, self.blob.size);
            return Err(RegistryError::Unreachable { host: remote.host().to_owned(), reason }.into());
        }
        Ok(())
    }

    async fn append(&mut self, host: &str, bytes: &[u8]) -> Result<(), PullFailure> {
        if self.length + bytes.len() as u64 > self.blob.size {
            let (digest, size) = (self.blob.digest.clone(), self.blob.size);
            self.restart().await?;
            return Err(PullFailure::TooLong { host: host.to_owned(), digest, size });
        }
        self.file.write_all(bytes).await.map_err(|source| self.failed(source))?;
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// What is wrong goes. Where it may be our own fault it is fetched again.
    async fn check(&mut self, host: &str) -> Result<Checked, PullFailure> {
        let hasher = std::mem::replace(&mut self.hasher, self.blob.digest.hasher());
        let found = hasher.finish();
        if found == self.blob.digest {
            return Ok(Checked::Good);
        }
        let inherited = self.inherited;
        self.restart().await?;
        if inherited {
            return Ok(Checked::Again);
        }
        Err(PullFailure::Digest { host: host.to_owned(), expected: self.blob.digest.clone(), found })
    }

    /// Held open, so that it does not matter who removes it.
    async fn into_file(mut self) -> Result<std::fs::File, PullFailure> {
        self.file.rewind().await.map_err(|source| self.failed(source))?;
        Ok(self.file.into_std().await)
    }

    async fn restart(&mut self) -> Result<(), PullFailure> {
        let emptied = async {
            self.file.set_len(0).await?;
            self.file.rewind().await
        };
        emptied.await.map_err(|source| PullFailure::Disk { path: self.path.clone(), source })?;
        self.hasher = self.blob.digest.hasher();
        (self.length, self.inherited) = (0, false);
        Ok(())
    }

    fn failed(&self, source: io::Error) -> PullFailure {
        PullFailure::Disk { path: self.path.clone(), source }
    }
}

/// Reads what is there, but not much more than should be.
async fn hash(file: &mut File, hasher: &mut Hasher, size: u64) -> io::Result<u64> {
    let mut buffer = vec![0; BUFFER];
    let mut length = 0;
    while length <= size {
        let count = file.read(&mut buffer).await?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
        length += count as u64;
    }
    Ok(length)
}
