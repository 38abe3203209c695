//! The processes that clients started: who is there, how they are found, ended and forgotten. One thread serves everybody, so the
//! table needs no lock; a `RefCell` of it is never borrowed across an await.
//!
//! **Invariant.** Every child of this process is reaped here, whoever started it: as the init of a container there is nobody else.

pub(crate) mod launch;
pub(crate) mod process;
pub(crate) mod reader;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod signals;
mod supervise;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, wait};
use tokio::sync::Notify;

use crate::failure::{Code, Failure};
use launch::Launch;
use process::{Ended, Process};

/// What the table may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) running: usize,
    /// Bytes of output, of each.
    pub(crate) output: usize,
    pub(crate) finished: usize,
    pub(crate) finished_for: Duration,
}

pub(crate) struct Processes {
    bounds: Bounds,
    next: Cell<u32>,
    table: RefCell<BTreeMap<u32, Rc<Process>>>,
    /// Those that the kernel has not said the end of.
    by_pid: RefCell<HashMap<i32, Rc<Process>>>,
    /// When each that is finished was, the oldest first.
    finished: RefCell<Vec<(Instant, u32)>>,
    /// The command that this process is the init for.
    main: RefCell<Option<Pid>>,
    main_ended: Cell<Option<Ended>>,
    changed: Notify,
    ending: Cell<bool>,
}

/// What becomes of a process when its record is no longer wanted by whoever started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Stays in the table for a while.
    Finished,
    /// Is forgotten when it ends, and killed when nobody waits for it any more.
    WhileWaitedFor,
}

impl Processes {
    pub(crate) fn new(bounds: Bounds) -> Rc<Self> {
        Rc::new(Self {
            bounds,
            next: Cell::new(1),
            table: RefCell::default(),
            by_pid: RefCell::default(),
            finished: RefCell::default(),
            main: RefCell::default(),
            main_ended: Cell::default(),
            changed: Notify::new(),
            ending: Cell::new(false),
        })
    }

    pub(crate) fn start(self: &Rc<Self>, launch: Launch, keep: Keep) -> Result<Rc<Process>, Failure> {
        if self.ending.get() {
            return Err(Failure::new(Code::Unavailable, "the sandbox is ending"));
        }
        if self.unfinished() >= self.bounds.running {
            let message = format!("{} processes run already, and that is the limit", self.bounds.running);
            return Err(Failure::new(Code::ResourceExhausted, message));
        }
        let timeout = launch.timeout;
        let (process, outputs) = launch.start(self.next.get(), self.bounds.output)?;
        self.next.set(self.next.get() + 1);
        self.table.borrow_mut().insert(process.id, process.clone());
        self.by_pid.borrow_mut().insert(process.pid.as_raw_nonzero().get(), process.clone());
        tokio::task::spawn_local(supervise::supervise(self.clone(), process.clone(), outputs, timeout, keep));
        Ok(process)
    }

    pub(crate) fn find(&self, id: u32) -> Result<Rc<Process>, Failure> {
        self.forget_old();
        let found = self.table.borrow().get(&id).cloned();
        found.ok_or_else(|| Failure::not_found(format!("there is no process {id}")))
    }

    pub(crate) fn all(&self) -> Vec<Rc<Process>> {
        self.forget_old();
        self.table.borrow().values().cloned().collect()
    }

    /// Kills it if it runs, and forgets it.
    pub(crate) fn remove(&self, process: &Process) {
        process.kill();
        self.table.borrow_mut().remove(&process.id);
    }

    /// Takes the ends of children from the kernel, of those nobody knows too.
    pub(crate) fn reap(&self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let ended = Ended::of(status);
            if *self.main.borrow() == Some(pid) {
                self.main_ended.set(Some(ended));
            }
            let process = self.by_pid.borrow_mut().remove(&pid.as_raw_nonzero().get());
            if let Some(process) = process {
                process.has_ended(ended);
            }
            self.changed.notify_waiters();
        }
    }

    /// The command whose end is the end of the container.
    pub(crate) fn set_main(&self, pid: Pid) {
        *self.main.borrow_mut() = Some(pid);
    }

    pub(crate) async fn main_ended(&self) -> Ended {
        self.until(|| self.main_ended.get()).await
    }

    /// Asks every process group to end, and after a while kills what is left.
    pub(crate) async fn end_all(&self, patience: Duration) {
        self.ending.set(true);
        self.running().iter().for_each(|process| drop(process.signal(Signal::TERM)));
        let nobody = self.until(|| self.by_pid.borrow().is_empty().then_some(()));
        if tokio::time::timeout(patience, nobody).await.is_err() {
            self.running().iter().for_each(|process| process.kill());
        }
    }

    /// Those that run, and those that have ended but wait for a reader.
    fn unfinished(&self) -> usize {
        let waits = |process: &&Rc<Process>| process.ended().is_some() && process.exit().is_none();
        self.by_pid.borrow().len() + self.table.borrow().values().filter(waits).count()
    }

    fn running(&self) -> Vec<Rc<Process>> {
        self.by_pid.borrow().values().cloned().collect()
    }

    async fn until<T>(&self, found: impl Fn() -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(found) = found() {
                return found;
            }
            changed.await;
        }
    }

    fn retire(&self, process: &Process, keep: Keep) {
        match keep {
            Keep::WhileWaitedFor => drop(self.table.borrow_mut().remove(&process.id)),
            Keep::Finished => {
                self.finished.borrow_mut().push((Instant::now(), process.id));
                self.forget_old();
            }
        }
    }

    fn forget_old(&self) {
        let mut finished = self.finished.borrow_mut();
        let surplus = finished.len().saturating_sub(self.bounds.finished);
        let old = finished.iter().take_while(|(at, _)| at.elapsed() >= self.bounds.finished_for).count();
        for (_, id) in finished.drain(..surplus.max(old)) {
            self.table.borrow_mut().remove(&id);
        }
    }
}

impl Ended {
    pub(crate) fn of(status: WaitStatus) -> Self {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Code(-1),
        }
    }
}
