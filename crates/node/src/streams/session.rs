//! A process in a container, as far as whoever talks to it sees it.

use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use super::error::Error;

/// Which ends of a process are wanted. With a terminal, errors come with the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are four independent parameters of the request")]
pub struct Wanted {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
    pub terminal: bool,
}

/// Of a terminal, in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

pub type Input = Box<dyn AsyncWrite + Send + Unpin>;

pub type Output = Box<dyn AsyncRead + Send + Unpin>;

/// The ends of a process. Dropping them is leaving: a process with a terminal is hung up, another one goes on and finds its
/// pipes closed, as with other container runtimes.
pub struct Session {
    pub stdin: Option<Input>,
    pub stdout: Option<Output>,
    pub stderr: Option<Output>,
    /// Only the latest counts. Taken note of while `exit` is polled.
    pub size: Option<watch::Sender<Size>>,
    /// Ends with the exit code, 128 and the signal for a process that was killed.
    pub exit: BoxFuture<'static, Result<i32, Error>>,
}
