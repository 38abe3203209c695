//! What the first process of a container does: it starts the command that the container is for, passes signals on to it, reaps
//! every process that ends, and ends as the command does.

use std::io;
use std::process::Command;
use std::rc::Rc;

use rustix::process::{Pid, Signal, kill_process_group};
use rustix::stdio::stdin;
use rustix::termios::isatty;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::processes::Processes;
use crate::sys::spawn;

/// What is passed on.
const PASSED: &[Signal] =
    &[Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2, Signal::WINCH];

/// What a shell says of a command that it cannot start.
pub(crate) const NOT_FOUND: u8 = 127;
pub(crate) const NOT_EXECUTABLE: u8 = 126;

/// Children are reaped from now on, also those whose parents died before them.
pub(crate) fn reap(processes: &Rc<Processes>) -> io::Result<()> {
    let mut ended = signal(SignalKind::child())?;
    // Where this is the first process it is so anyway, and where it is not allowed there is one that is.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let processes = processes.clone();
    tokio::task::spawn_local(async move {
        processes.reap();
        while ended.recv().await.is_some() {
            processes.reap();
        }
    });
    Ok(())
}

/// The signals that come to this process.
pub(crate) fn signals() -> io::Result<mpsc::Receiver<Signal>> {
    let (sender, receiver) = mpsc::channel(16);
    for kind in PASSED {
        let mut arrivals = signal(SignalKind::from_raw(kind.as_raw()))?;
        let sender = sender.clone();
        tokio::task::spawn_local(async move {
            while arrivals.recv().await.is_some() && sender.send(*kind).await.is_ok() {}
        });
    }
    Ok(receiver)
}

/// Starts the command, with our own streams and terminal.
pub(crate) fn start(processes: &Processes, command: &[String]) -> io::Result<Pid> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments);
    spawn::foreground(&mut command, isatty(stdin()));
    let pid = Pid::from_child(&command.spawn()?);
    processes.set_main(pid);
    Ok(pid)
}

/// The command leads its process group, and what it started gets the signal too, as from a terminal.
pub(crate) fn pass(signal: Signal, to: Pid) {
    // It may have ended a moment ago.
    let _ = kill_process_group(to, signal);
}
