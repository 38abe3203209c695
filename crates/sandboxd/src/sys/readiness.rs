//! Descriptors that tell when there is something to do. Tokio cannot know that a descriptor stays what it is; we can.

#![expect(unsafe_code, reason = "tokio asks for a promise about descriptors that only their owner can give")]

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::unix::AsyncFd;

/// Of a descriptor that does not block. To be called within a runtime.
pub(crate) fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is the same open descriptor for as long as it is there, and it goes with the `AsyncFd`.
    let watched = unsafe { AsyncFd::register(descriptor) };
    watched.map_err(|error| error.into_parts().1)
}
