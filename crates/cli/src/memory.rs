//! Keeps this process small. What a busy moment needed, such as a first start, is not needed for the next one.

use std::time::Duration;

use asb_node::sys::memory::give_back;

/// When the first start has settled, and from then on.
const FIRST: Duration = Duration::from_secs(2);
const LATER: Duration = Duration::from_mins(1);

/// Gives back what is not needed, again and again, without end.
pub(crate) async fn keep_small() {
    let mut pause = FIRST;
    loop {
        tokio::time::sleep(pause).await;
        // On a thread that may block: with much memory it takes some milliseconds.
        let _ = tokio::task::spawn_blocking(give_back).await;
        pause = LATER;
    }
}
