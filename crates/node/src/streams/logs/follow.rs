//! A log as a stream: to where it is now, or on until its container has ended and all of it was read.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::Log;
use super::reader::Reader;
use crate::shim::client::Client;
use crate::shim::directory::Directory;
use crate::shim::protocol::Attempt;
use crate::streams::attach::ended;
use crate::sys::readiness;

/// How often to look where the kernel does not tell: there is no folder yet, or there are too many who want to be told.
const UNTOLD: Duration = Duration::from_millis(200);

/// All that there is.
pub(super) fn all(reader: Reader) -> Log {
    let next = |mut reader: Reader| async move {
        let (read, reader) = apart(move || (reader.read(), reader)).await?;
        Ok(read?.map(|bytes| (bytes, reader)))
    };
    stream::try_unfold(reader, next).boxed()
}

/// Disks may take their time.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
}

pub(super) struct Following {
    /// Away while somebody reads with it.
    reader: Option<Reader>,
    folder: PathBuf,
    changes: Option<Changes>,
    end: BoxFuture<'static, ()>,
    has_ended: bool,
}

impl Following {
    pub(super) fn new(reader: Reader, path: PathBuf, directory: Directory, attempt: Attempt) -> Self {
        let end = async move {
            // Without a shim there is no container.
            if let Ok(client) = Client::connect(&directory).await {
                let _ = ended(client, attempt).await;
            }
        };
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Self { reader: Some(reader), folder, changes: None, end: end.boxed(), has_ended: false }
    }

    pub(super) fn stream(self) -> Log {
        let next =
            |mut following: Self| async move { Ok(following.next().await?.map(|bytes| (bytes, following))) };
        stream::try_unfold(self, next).boxed()
    }

    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            // Before it is read to its end: what was written then is all that there will be.
            let has_ended = self.has_ended;
            let Some(mut reader) = self.reader.take() else { return Ok(None) };
            let (read, reader) = apart(move || (reader.read_on(), reader)).await?;
            let is_over = has_ended || reader.is_done();
            self.reader = Some(reader);
            match read? {
                Some(bytes) => return Ok(Some(bytes)),
                None if is_over => return Ok(None),
                None => self.wait().await,
            }
        }
    }

    /// Until there may be more to read.
    async fn wait(&mut self) {
        if self.changes.is_none() {
            self.changes = Changes::of(&self.folder).ok();
            if self.changes.is_some() {
                // Something may have come before we were to be told.
                return;
            }
        }
        tokio::select! {
            () = &mut self.end => self.has_ended = true,
            () = told(self.changes.as_ref()) => {}
        }
    }
}

async fn told(changes: Option<&Changes>) {
    match changes {
        Some(changes) if changes.next().await.is_ok() => {}
        _ => tokio::time::sleep(UNTOLD).await,
    }
}

/// Tells when something happens to the files of a folder.
struct Changes(AsyncFd<OwnedFd>);

impl Changes {
    fn of(folder: &Path) -> io::Result<Self> {
        let descriptor = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        inotify::add_watch(
            &descriptor,
            folder,
            WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO,
        )?;
        Ok(Self(readiness::watch(descriptor, Interest::READABLE)?))
    }

    /// Everything that has happened until now counts once.
    async fn next(&self) -> io::Result<()> {
        let mut events = [0; 4096];
        let mut guard = self.0.readable().await?;
        while guard
            .try_io(|inner| Ok(rustix::io::read(inner.get_ref(), &mut events)?))
            .is_ok_and(|read| read.is_ok())
        {}
        Ok(())
    }
}
