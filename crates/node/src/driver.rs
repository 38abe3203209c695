//! Runs the Pods that are bound to this node: one keeper for each, who looks at what there is, has `core` say what is needed
//! next, begins it, and reports. Everything that a keeper begins is written down before, and is begun again or cleared away
//! by whoever comes after a crash.

mod begin;
mod expulsion;
mod ids;
mod journal;
mod keeper;
mod last_words;
mod lookups;
mod note;
mod outcome;
mod recovery;
mod sources;
mod supervisor;
mod telling;
mod tools;
mod work;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

pub use ids::Ids;
pub use supervisor::survivors;
pub use tools::Tools;
pub(crate) use work::container::owned_by;

/// Keeps Pods until it is told to stop. They go on then without anybody to keep them.
pub async fn run(tools: Arc<Tools>, stop: CancellationToken) {
    let expulsion = expulsion::run(Arc::clone(&tools), stop.clone());
    let emptying = Arc::clone(&tools.trash).keep_empty(stop.clone());
    tokio::join!(supervisor::Supervisor::new(tools).run(stop), expulsion, emptying);
}
