//! Downloads that are under way, so that nobody prunes them.

use std::fs;
use std::sync::Arc;

use super::Store;
use crate::images::digest::Digest;

/// Keeps a partial download from being pruned as long as it lives.
pub struct Download {
    store: Arc<Store>,
    digest: Digest,
}

impl Store {
    pub fn download(self: &Arc<Self>, digest: &Digest) -> Download {
        *self.state().downloads.entry(digest.clone()).or_default() += 1;
        Download { store: Arc::clone(self), digest: digest.clone() }
    }

    /// Removes what was downloaded, unless another image waits for it too. What cannot be removed is swept after a day.
    pub fn forget_download(&self, digest: &Digest) {
        let state = self.state();
        if !state.downloads.contains_key(digest) {
            let _ = fs::remove_file(self.partial(digest));
        }
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        let mut state = self.store.state();
        if let Some(count) = state.downloads.get_mut(&self.digest) {
            *count -= 1;
        }
        state.downloads.retain(|_, count| *count > 0);
    }
}
