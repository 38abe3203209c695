//! The terminal of whoever called: what is typed, what is shown, how large it is. In raw mode every key goes to the
//! command; the mode ends with its guard.

use std::io::{IsTerminal, stderr, stdin, stdout};

use anyhow::{Context, Result};
use asb_client::SizeSender;
use futures::SinkExt;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};

/// Raw mode, for as long as this is held.
pub(crate) struct Raw {
    before: Termios,
}

impl Raw {
    pub(crate) fn begin() -> Result<Self> {
        let before = tcgetattr(stdin()).context("cannot ask the terminal how it is set")?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw).context("cannot set the terminal")?;
        Ok(Self { before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that is gone needs no setting.
        let _ = tcsetattr(stdin(), OptionalActions::Flush, &self.before);
    }
}

/// Whether somebody types.
pub(crate) fn has_keyboard() -> bool {
    stdin().is_terminal()
}

/// Whether somebody reads what is said besides the answer.
pub(crate) fn has_reader() -> bool {
    stderr().is_terminal()
}

/// Tells the size of the terminal now and whenever it changes. Never ends by itself.
pub(crate) async fn tell_size(mut to: SizeSender) -> Result<()> {
    let mut changes = signal(SignalKind::window_change()).context("cannot listen for signals")?;
    loop {
        if let Some(size) = size() {
            // A command that has ended takes none any more.
            let _ = to.send(size).await;
        }
        changes.recv().await;
    }
}

fn size() -> Option<(u16, u16)> {
    let size = tcgetwinsize(stdout()).or_else(|_| tcgetwinsize(stdin())).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
}

/// What is typed, or comes through a pipe.
pub(crate) fn input() -> tokio::io::Stdin {
    tokio::io::stdin()
}

/// Where answers go as they come.
pub(crate) fn answers() -> tokio::io::Stdout {
    tokio::io::stdout()
}

/// Where complaints go as they come.
pub(crate) fn complaints() -> tokio::io::Stderr {
    tokio::io::stderr()
}
