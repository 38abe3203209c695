//! What is to be removed and may be huge: put aside at once, so that nobody waits for it, and removed beside everything else.
//! What a process does not get done is removed by the next.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::volumes::removal;

pub struct Trash {
    folder: PathBuf,
    /// The next name.
    number: AtomicU64,
    more: Notify,
    is_stopped: AtomicBool,
}

impl Trash {
    /// Below the node's directory, so that things can be moved there.
    pub fn of(root: &Path) -> Arc<Self> {
        let trash = Self {
            folder: root.join("trash"),
            number: AtomicU64::new(0),
            more: Notify::new(),
            is_stopped: AtomicBool::new(false),
        };
        // Somebody may have left something.
        trash.more.notify_one();
        Arc::new(trash)
    }

    /// From here on it has no name that means anything; what is not there is gone already. Nothing may be mounted in it.
    pub fn put(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).recursive(true).create(&self.folder)?;
        loop {
            let name = self.number.fetch_add(1, Ordering::Relaxed).to_string();
            match fs::rename(path, self.folder.join(name)) {
                // Something that an earlier process left has the name.
                Err(error) if is_taken(&error) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(error),
                Ok(()) => {
                    self.more.notify_one();
                    return Ok(());
                }
            }
        }
    }

    /// Removes what is put there until it is told to stop, which it does in the middle of a tree.
    pub async fn keep_empty(self: Arc<Self>, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.more.notified() => {}
            }
            let this = Arc::clone(&self);
            let mut emptying = spawn_blocking(move || this.empty());
            let emptied = tokio::select! {
                emptied = &mut emptying => emptied,
                () = stop.cancelled() => {
                    self.is_stopped.store(true, Ordering::Relaxed);
                    emptying.await
                }
            };
            if let Ok(Err(error)) = emptied {
                tracing::warn!(%error, folder = %self.folder.display(), "cannot remove what was put aside");
            }
        }
    }

    fn empty(&self) -> io::Result<()> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        for entry in entries {
            let path = entry?.path();
            let removed = removal::clear_unless(&path, &|| self.is_stopped.load(Ordering::Relaxed));
            match removed {
                // A plain file.
                Err(error) if error.kind() == ErrorKind::NotADirectory => fs::remove_file(&path)?,
                Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
                other => other?,
            }
        }
        Ok(())
    }
}

fn is_taken(error: &io::Error) -> bool {
    use ErrorKind::{AlreadyExists, DirectoryNotEmpty, IsADirectory, NotADirectory};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | IsADirectory | NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(path: &Path) {
        fs::create_dir_all(path.join("a/b")).unwrap();
        fs::write(path.join("a/b/file"), "x").unwrap();
    }

    fn left(root: &Path) -> usize {
        fs::read_dir(root.join("trash")).map_or(0, Iterator::count)
    }

    #[test]
    fn what_is_put_aside_has_no_name_any_more_and_is_removed_later() {
        let root = tempfile::tempdir().unwrap();
        let (trash, folder) = (Trash::of(root.path()), root.path().join("folder"));
        for expected in 1..=2 {
            tree(&folder);
            trash.put(&folder).unwrap();
            assert_eq!((folder.exists(), left(root.path())), (false, expected));
        }
        trash.put(&folder).unwrap();
        trash.empty().unwrap();
        assert_eq!(left(root.path()), 0);
    }

    #[test]
    fn what_an_earlier_process_left_is_not_in_the_way_and_goes_too() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("folder");
        for _ in 0..2 {
            tree(&folder);
            Trash::of(root.path()).put(&folder).unwrap();
        }
        assert_eq!(left(root.path()), 2);
        Trash::of(root.path()).empty().unwrap();
        assert_eq!(left(root.path()), 0);
    }

    #[tokio::test]
    async fn it_is_emptied_until_it_is_told_to_stop() {
        let root = tempfile::tempdir().unwrap();
        let (trash, stop) = (Trash::of(root.path()), CancellationToken::new());
        let keeping = tokio::spawn(Arc::clone(&trash).keep_empty(stop.clone()));
        let folder = root.path().join("folder");
        tree(&folder);
        trash.put(&folder).unwrap();
        while left(root.path()) > 0 {
            tokio::task::yield_now().await;
        }
        stop.cancel();
        keeping.await.unwrap();
    }

    #[test]
    fn who_is_stopped_leaves_the_rest_to_the_next() {
        let root = tempfile::tempdir().unwrap();
        let (trash, folder) = (Trash::of(root.path()), root.path().join("folder"));
        tree(&folder);
        trash.put(&folder).unwrap();
        trash.is_stopped.store(true, Ordering::Relaxed);
        trash.empty().unwrap();
        assert_eq!(left(root.path()), 1);
    }
}
