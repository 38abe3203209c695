//! Files below the root directory, and nowhere else. Everything here may wait for a disk, so it is called through [`blocking`];
//! who may ask, and how it is asked, is the business of `rest` and `legacy`.
//!
//! **Invariant.** A file is reached only through descriptors, by `openat2` that stays beneath the root or by `walk`; no path that
//! was checked as text is ever given to the kernel as a whole.

pub(crate) mod archive;
pub(crate) mod facts;
pub(crate) mod list;
pub(crate) mod path;
pub(crate) mod remove;
pub(crate) mod root;
pub(crate) mod stat;
pub(crate) mod transfer;
pub(crate) mod upload;
mod walk;
pub(crate) mod watch;

use crate::failure::Failure;

/// Does what may wait for a disk away from the thread that serves everybody.
pub(crate) async fn blocking<T, W>(work: W) -> Result<T, Failure>
where
    T: Send + 'static,
    W: FnOnce() -> Result<T, Failure> + Send + 'static,
{
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Failure::internal("sandboxd is ending")))
}
