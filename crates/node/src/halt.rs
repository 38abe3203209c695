//! The end of everything that runs on a node whose daemon is gone: each Pod is asked to end, given time, and then ended.
//! Its directory stays, so that whoever comes next knows what there was.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use futures::future::join_all;
use tokio::task::{JoinError, spawn_blocking};

use crate::connectivity;
use crate::identity::{Identity, IdentityError};
use crate::neighbours;
use crate::shim::cgroups::{self, Hierarchies};
use crate::shim::cleanup;
use crate::shim::client::{Client, Error as ClientError};
use crate::shim::directory::Directory;
use crate::shim::protocol::{Phase, Request, State};

#[derive(Debug, thiserror::Error)]
pub enum HaltError {
    #[error("cannot end a Pod")]
    Pod(#[from] cleanup::Error),
    #[error("the end of a Pod was cut off")]
    Ended(#[from] JoinError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Network(#[from] connectivity::Error),
    #[error(transparent)]
    Cgroup(#[from] cgroups::Error),
    #[error("cannot end those who held Pods")]
    Shims(#[source] io::Error),
    #[error("cannot strike the node off the list of this machine's")]
    Leave(#[source] io::Error),
}

/// Pods of the node whose shims live. Blocks.
pub fn running(root: &Path) -> io::Result<Vec<Directory>> {
    let entries = match fs::read_dir(root.join("pods")) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let directory = Directory::new(entry?.path());
        if cleanup::shim(&directory)?.is_some() {
            found.push(directory);
        }
    }
    Ok(found)
}

/// Ends them all at once, each within the grace.
pub async fn end(pods: &[Directory], grace: Duration) -> Result<(), HaltError> {
    join_all(pods.iter().map(|pod| end_one(pod, grace))).await.into_iter().collect()
}

/// Removes what the node made for all Pods together: rules, its address among them, and their cgroup. To be called where
/// none of them runs; the next start makes it anew.
pub async fn clear(root: &Path) -> Result<(), HaltError> {
    if !Identity::is_known(root) {
        return Ok(());
    }
    clear_all_of(Identity::of(root)?).await
}

/// The same of a node of which only that is known; what still runs of it is ended.
pub(crate) async fn clear_all_of(mut identity: Identity) -> Result<(), HaltError> {
    if neighbours::has_another(&identity) {
        // Nothing of it is there, and the address is the other's.
        identity.pods = None;
    }
    connectivity::clear(&identity).await?;
    let remove = move || -> Result<(), HaltError> {
        let cgroup = Hierarchies::discover()?.cgroup(identity.cgroup().as_ref());
        cgroup.kill()?;
        cgroup.remove()?;
        neighbours::leave(&identity).map_err(HaltError::Leave)
    };
    spawn_blocking(remove).await?
}

async fn end_one(pod: &Directory, grace: Duration) -> Result<(), HaltError> {
    // One that does not answer, or not in time, is ended all the same.
    let asked = tokio::time::timeout(grace, ask_to_end(pod)).await;
    if !matches!(asked, Ok(Ok(()))) {
        tracing::info!(pod = %pod.root().display(), "a Pod did not end by itself");
    }
    let pod = pod.clone();
    Ok(spawn_blocking(move || cleanup::end(&pod)).await??)
}

/// Returns when nothing runs in it any more.
async fn ask_to_end(pod: &Directory) -> Result<(), ClientError> {
    let mut shim = Client::connect(pod).await?;
    let mut state = shim.state(None).await?;
    for container in &state.containers {
        if is_running(&container.phase) {
            let attempt = container.attempt.clone();
            // One may end by itself in between.
            let _ = shim.done(Request::Signal { attempt, signal: libc::SIGTERM }).await;
        }
    }
    while any_runs(&state) {
        state = shim.state(Some(state.revision)).await?;
    }
    Ok(())
}

fn any_runs(state: &State) -> bool {
    state.containers.iter().any(|container| is_running(&container.phase))
}

fn is_running(phase: &Phase) -> bool {
    matches!(phase, Phase::Running { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_runs_on_a_node_that_never_was() {
        assert!(running(Path::new("/nowhere")).unwrap().is_empty());
    }

    #[test]
    fn a_directory_without_a_shim_is_no_running_pod() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("pods/uid-1")).unwrap();
        assert!(running(root.path()).unwrap().is_empty());
    }
}
