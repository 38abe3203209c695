//! One process that a client started: what it wrote, what it reads, and how it ended.

use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::SystemTime;

use rustix::process::{Pid, Signal, kill_process_group};
use rustix::termios::{Winsize, tcgetpgrp, tcsetwinsize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{Mutex, Notify};

use super::replay::Replay;
use super::signals;
use crate::failure::{Code, Failure};
use crate::timestamp;
use crate::wire::processes as wire;
use crate::wire::processes::{OnDisconnect, OnOverflow, State, TerminalSize};

/// What ends input on a terminal.
const END_OF_TRANSMISSION: &[u8] = &[4];

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Code(i32),
    Signal(i32),
}

impl Ended {
    /// As a shell says it.
    pub(crate) fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) pid: Pid,
    pub(super) tag: Option<String>,
    pub(super) command: Vec<String>,
    pub(super) on_disconnect: OnDisconnect,
    pub(super) on_overflow: OnOverflow,
    pub(super) started: SystemTime,
    pub(super) replay: RefCell<Replay>,
    /// Output came, or something ended.
    pub(super) changed: Notify,
    pub(super) input: RefCell<Option<Rc<AsyncFd<OwnedFd>>>>,
    /// One writes at a time.
    pub(super) input_turn: Mutex<()>,
    pub(super) terminal: RefCell<Option<Rc<AsyncFd<OwnedFd>>>>,
    pub(super) size: Cell<Option<TerminalSize>>,
    pub(super) ended: Cell<Option<(Ended, SystemTime)>>,
    pub(super) timed_out: Cell<bool>,
    /// It has ended, and all that it wrote was read.
    pub(super) finished: Cell<bool>,
    /// Its output is no longer wanted.
    pub(super) hung_up: Cell<bool>,
    /// How far its output was read, by whoever is furthest.
    pub(super) taken: Cell<u64>,
    pub(super) followers: Cell<u32>,
}

impl Process {
    pub(crate) fn has_ended(&self, ended: Ended) {
        self.ended.set(Some((ended, SystemTime::now())));
        self.changed.notify_waiters();
    }

    pub(crate) fn timed_out(&self) -> bool {
        self.timed_out.get()
    }

    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ended.get().map(|(ended, _)| ended)
    }

    /// Waits until something is so that [`Process::changed`] is told of.
    pub(crate) async fn until<T>(&self, found: impl Fn() -> Option<T>) -> T {
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

    /// Until it has ended and its output is complete.
    pub(crate) async fn finished(&self) {
        self.until(|| self.finished.get().then_some(())).await;
    }

    /// To the process and all that it started, unless those left its group. When it has ended there is nobody to signal: its number
    /// may be somebody else's by now.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Failure> {
        if self.ended.get().is_some() {
            return Err(Failure::new(Code::FailedPrecondition, format!("process {} has ended", self.id)));
        }
        kill_process_group(self.pid, signal).map_err(|errno| Failure::of(errno, "sending the signal"))
    }

    /// Whole: its group, the group that its terminal is showing, and every other of its session.
    pub(super) fn kill_groups(&self) {
        if self.ended.get().is_some() {
            return;
        }
        // There may be nobody left in any of them.
        let _ = kill_process_group(self.pid, Signal::KILL);
        let shown = self.terminal.borrow().as_ref().and_then(|terminal| tcgetpgrp(terminal.get_ref()).ok());
        let groups = session_groups(self.pid).into_iter().chain(shown);
        for group in groups {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// And nobody wants its output any more.
    pub(crate) fn kill(&self) {
        self.kill_groups();
        self.hang_up();
    }

    pub(crate) fn resize(&self, size: TerminalSize) -> Result<(), Failure> {
        let terminal = self.terminal.borrow();
        let Some(terminal) = terminal.as_ref() else {
            let message = format!("process {} has no terminal", self.id);
            return Err(Failure::new(Code::FailedPrecondition, message));
        };
        self.size.set(Some(size));
        tcsetwinsize(terminal.get_ref(), winsize(size)).map_err(|errno| Failure::of(errno, "resizing"))
    }

    /// Waits until the process has taken it, or at least the pipe.
    pub(crate) async fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_until(bytes, std::future::pending()).await.map(drop)
    }

    /// As much as it takes before it waits for a reader of its output, who may be the one that writes here.
    pub(crate) async fn write_some(&self, bytes: &[u8]) -> Result<usize, Failure> {
        self.write_until(bytes, self.until(|| (self.room() == 0).then_some(()))).await
    }

    async fn write_until(&self, bytes: &[u8], enough: impl Future<Output = ()>) -> Result<usize, Failure> {
        let _turn = self.input_turn.lock().await;
        tokio::pin!(enough);
        let mut taken = 0;
        while taken < bytes.len() {
            let Some(input) = self.input.borrow().clone() else { return Err(self.no_input()) };
            let rest = &bytes[taken..];
            let write = input.async_io(Interest::WRITABLE, |input| Ok(rustix::io::write(input, rest)?));
            let written = tokio::select! {
                biased;
                written = write => written,
                () = self.until(|| (self.ended.get().is_some() || self.input_gone()).then_some(())) => return Err(self.no_input()),
                () = &mut enough => break,
            };
            taken += written.map_err(|_| self.no_input())?;
        }
        Ok(taken)
    }

    /// How much more of its output may be taken in. Where nothing may be lost that is as much as fits beside what nobody has read.
    pub(super) fn room(&self) -> usize {
        if self.on_overflow == OnOverflow::Drop || self.hung_up.get() {
            return usize::MAX;
        }
        self.replay.borrow().room_after(self.taken.get())
    }

    /// Everything before this offset was read.
    pub(super) fn take(&self, offset: u64) {
        if offset > self.taken.get() {
            self.taken.set(offset.min(self.replay.borrow().range().to));
            self.changed.notify_waiters();
        }
    }

    /// At most so much is sent to a reader whose word is waited for that it has come.
    pub(crate) fn window(&self) -> usize {
        (self.replay.borrow().capacity() / 2).max(1)
    }

    fn input_gone(&self) -> bool {
        self.input.borrow().is_none()
    }

    /// Its next read finds the end. On a terminal that is typed.
    pub(crate) async fn close_input(&self) -> Result<(), Failure> {
        if self.terminal.borrow().is_some() {
            return self.write(END_OF_TRANSMISSION).await;
        }
        let input = self.input.borrow_mut().take();
        self.changed.notify_waiters();
        input.map(drop).ok_or_else(|| self.no_input())
    }

    /// The line to the terminal is cut, as when a telephone is hung up.
    pub(crate) fn hang_up(&self) {
        self.hung_up.set(true);
        self.terminal.borrow_mut().take();
        self.input.borrow_mut().take();
        self.changed.notify_waiters();
    }

    pub(crate) fn has_terminal(&self) -> bool {
        self.terminal.borrow().is_some()
    }

    fn no_input(&self) -> Failure {
        Failure::new(Code::FailedPrecondition, format!("process {} takes no input", self.id))
    }

    /// How it ended, once its output is complete.
    pub(crate) fn exit(&self) -> Option<wire::Exit> {
        let (ended, _) = self.ended.get().filter(|_| self.finished.get())?;
        let signal = match ended {
            Ended::Signal(signal) => Some(signals::name(signal)),
            Ended::Code(_) => None,
        };
        Some(wire::Exit { code: ended.code(), signal, timed_out: self.timed_out.get() })
    }

    pub(crate) fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    pub(crate) fn shown(&self) -> wire::Process {
        let exit = self.exit();
        let ended_at = self.ended.get().filter(|_| exit.is_some()).map(|(_, at)| timestamp::milliseconds(at));
        wire::Process {
            id: self.id,
            pid: self.pid.as_raw_nonzero().get(),
            tag: self.tag.clone(),
            command: self.command.clone(),
            pty: self.size.get(),
            stdin: self.input.borrow().is_some() && exit.is_none(),
            on_disconnect: self.on_disconnect,
            on_overflow: self.on_overflow,
            state: if exit.is_some() { State::Exited } else { State::Running },
            started_at: timestamp::milliseconds(self.started),
            ended_at,
            exit,
            output: self.replay.borrow().range(),
        }
    }

    /// One more follows it until the guard is dropped.
    pub(crate) fn follow(self: &Rc<Self>) -> Follower {
        self.followers.set(self.followers.get() + 1);
        Follower(self.clone())
    }
}

/// Somebody who reads the output as it comes.
pub(crate) struct Follower(Rc<Process>);

impl Drop for Follower {
    fn drop(&mut self) {
        let left = self.0.followers.get() - 1;
        self.0.followers.set(left);
        if left == 0 && self.0.on_disconnect == OnDisconnect::Kill && !self.0.finished.get() {
            self.0.kill();
        }
    }
}

pub(super) fn winsize(size: TerminalSize) -> Winsize {
    Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 }
}

/// The groups of a session, as `/proc` has them. Where that is not mounted, the first group is all that is known.
fn session_groups(session: Pid) -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let stats = numbers.filter_map(|number| std::fs::read_to_string(format!("/proc/{number}/stat")).ok());
    let groups = stats.filter_map(|stat| group_in(&stat, session.as_raw_nonzero().get()));
    groups.filter_map(Pid::from_raw).collect()
}

/// The group of a process, if it belongs to the session. Its name comes before, in brackets, and may hold anything.
fn group_in(stat: &str, session: i32) -> Option<i32> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let group = fields.nth(2)?.parse().ok()?;
    let own: i32 = fields.next()?.parse().ok()?;
    (own == session).then_some(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_session_whatever_its_name() {
        let stat = "12 (a) (b) R 1 34 56 0 -1 4194560";
        assert_eq!(group_in(stat, 56), Some(34));
        assert_eq!(group_in(stat, 34), None);
        assert_eq!(group_in("", 1), None);
    }

    #[test]
    fn signals_end_with_codes_as_in_a_shell() {
        assert_eq!(Ended::Signal(9).code(), 137);
        assert_eq!(Ended::Code(3).code(), 3);
    }
}
