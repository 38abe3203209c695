//! Looks after one process from its start to its last byte of output.

use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::JoinSet;

use super::launch::Output;
use super::process::Process;
use super::{Keep, Processes};
use crate::wire::processes::Stream;

/// How long output is read that a child of the process still holds open, as upstream has it.
const DRAIN: Duration = Duration::from_secs(5);
const CHUNK: usize = 16 * 1024;

pub(super) async fn supervise(
    processes: Rc<Processes>,
    process: Rc<Process>,
    outputs: Vec<Output>,
    timeout: Option<Duration>,
    keep: Keep,
) {
    let mut pumps = JoinSet::new();
    for (stream, pipe) in outputs {
        pumps.spawn_local(pump(process.clone(), stream, pipe));
    }
    ended(&process, timeout).await;
    // Aborted at the end, when time is up.
    let drained = async { while pumps.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(DRAIN, drained).await;
    drop(pumps);
    process.terminal.borrow_mut().take();
    process.input.borrow_mut().take();
    process.finished.set(true);
    process.changed.notify_waiters();
    processes.retire(&process, keep);
}

/// Until the process has ended, which it will when its time is over.
async fn ended(process: &Process, timeout: Option<Duration>) {
    let ended = || process.until(|| process.ended.get());
    let Some(timeout) = timeout else {
        ended().await;
        return;
    };
    if tokio::time::timeout(timeout, ended()).await.is_err() {
        process.timed_out.set(true);
        process.kill_groups();
        ended().await;
    }
}

async fn pump(process: Rc<Process>, stream: Stream, pipe: Rc<AsyncFd<OwnedFd>>) {
    let mut buffer = vec![0; CHUNK];
    loop {
        process.until(|| has_room(&process).then_some(())).await;
        let read = pipe.async_io(Interest::READABLE, |pipe| Ok(rustix::io::read(pipe, &mut buffer[..])?));
        let read = tokio::select! {
            biased;
            read = read => read,
            () = process.until(|| process.hung_up.get().then_some(())) => return,
        };
        match read {
            // A terminal ends by an error, and no other can be told to anybody.
            Ok(0) | Err(_) => return,
            Ok(read) => {
                process.replay.borrow_mut().push(stream, &buffer[..read]);
                process.changed.notify_waiters();
            }
        }
    }
}

/// Where nothing may be lost, the process waits for its reader.
fn has_room(process: &Process) -> bool {
    let Some(position) = process.patient.get() else { return true };
    let waiting = process.replay.borrow().range().to.saturating_sub(position);
    process.hung_up.get() || waiting.saturating_add(CHUNK as u64) <= process.capacity as u64
}
