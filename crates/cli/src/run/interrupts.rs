//! Signals that whoever called sends, and what follows from each. As with other programs that run containers: the first
//! goes to the command, the second stops it, the third leaves it to itself.

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C, and the wish of a system that ends.
pub(super) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

/// A signal for the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Interrupt,
    Terminate,
}

/// What to do about a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Response {
    Relay,
    Stop,
    Leave,
}

impl Interrupts {
    pub(super) fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    pub(super) async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.interrupt.recv() => Wish::Interrupt,
            _ = self.terminate.recv() => Wish::Terminate,
        }
    }
}

impl Wish {
    /// As `kill` knows it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "INT",
            Self::Terminate => "TERM",
        }
    }

    /// What a shell says of a program that ended by it.
    pub(super) fn exit_code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

impl Response {
    /// To the first, second or a later one.
    pub(super) fn to(count: usize) -> Self {
        match count {
            1 => Self::Relay,
            2 => Self::Stop,
            _ => Self::Leave,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_signal_is_more_urgent_than_the_one_before() {
        assert_eq!(
            [1, 2, 3, 9].map(Response::to),
            [Response::Relay, Response::Stop, Response::Leave, Response::Leave]
        );
    }

    #[test]
    fn a_program_that_was_interrupted_ends_as_in_a_shell() {
        assert_eq!([Wish::Interrupt, Wish::Terminate].map(Wish::exit_code), [130, 143]);
    }
}
