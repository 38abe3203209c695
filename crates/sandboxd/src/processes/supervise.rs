//! Looks after one process from its start to its last byte of output.

use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

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
    drained(&process, &mut pumps).await;
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

/// Until all was read, or whoever holds the output open has had their time. While it is our reader who is waited for, time stands
/// still.
async fn drained(process: &Process, pumps: &mut JoinSet<()>) {
    let mut left = DRAIN;
    while !pumps.is_empty() {
        let begun = Instant::now();
        let may_read = process.room() > 0;
        tokio::select! {
            biased;
            _ = pumps.join_next() => {}
            () = process.until(|| ((process.room() > 0) != may_read).then_some(())) => {}
            () = tokio::time::sleep(left), if may_read => return,
        }
        if may_read {
            left = left.saturating_sub(begun.elapsed());
        }
    }
}

async fn pump(process: Rc<Process>, stream: Stream, pipe: Rc<AsyncFd<OwnedFd>>) {
    let mut buffer = vec![0; CHUNK];
    loop {
        process.until(|| (process.room() > 0).then_some(())).await;
        let ready = tokio::select! {
            biased;
            ready = pipe.readable() => ready,
            () = process.until(|| process.hung_up.get().then_some(())) => return,
        };
        let Ok(mut ready) = ready else { return };
        // The other stream may have filled it up meanwhile.
        let room = process.room().min(CHUNK);
        if room == 0 {
            continue;
        }
        match ready.try_io(|pipe| Ok(rustix::io::read(pipe, &mut buffer[..room])?)) {
            Err(_would_block) => {}
            // A terminal ends by an error, and no other can be told to anybody.
            Ok(Ok(0) | Err(_)) => return,
            Ok(Ok(read)) => {
                process.replay.borrow_mut().push(stream, &buffer[..read]);
                process.changed.notify_waiters();
            }
        }
    }
}
