//! Moves bytes between a command and whoever holds its ends, until it has ended and everything it said was passed on.

use std::io;

use futures::Sink;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::{Process, exit};
use crate::error::Error;

/// Takes the width and height of a terminal whenever they change.
pub type SizeSender = Box<dyn Sink<(u16, u16), Error = futures::channel::mpsc::SendError> + Send + Unpin>;

/// The near ends of a command's streams.
pub struct Ends<I, O, E> {
    /// What is typed into it. Its end is the end of the command's input.
    pub input: Option<I>,
    pub output: O,
    pub errors: E,
}

impl Process {
    /// Passes everything on, and returns the exit code.
    pub async fn pump<I, O, E>(mut self, ends: Ends<I, O, E>) -> Result<i32, Error>
    where
        I: AsyncRead + Unpin,
        O: AsyncWrite + Unpin,
        E: AsyncWrite + Unpin,
    {
        let typing = feed(ends.input, self.attached.stdin());
        let saying = async {
            let (out, err) = (self.attached.stdout(), self.attached.stderr());
            tokio::try_join!(drain(out, ends.output), drain(err, ends.errors)).map(drop)
        };
        let (mut typing, mut saying) = (Box::pin(typing), Box::pin(saying));
        let (mut typed, mut said) = (false, false);
        let status = loop {
            tokio::select! {
                status = &mut self.status => break status,
                done = &mut saying, if !said => { said = true; done.map_err(unheard)?; }
                // A command need not read what it is told.
                _ = &mut typing, if !typed => typed = true,
            }
        };
        // Without a last word, what was under way never ends by itself.
        let status = status.ok_or(Error::Lost)?;
        if !said {
            saying.await.map_err(unheard)?;
        }
        exit::code(&status)
    }
}

fn unheard(source: io::Error) -> Error {
    Error::Transfer { doing: "cannot pass on what the command says".to_owned(), source }
}

async fn feed(
    input: Option<impl AsyncRead + Unpin>,
    stdin: Option<impl AsyncWrite + Unpin>,
) -> io::Result<()> {
    if let (Some(mut input), Some(mut stdin)) = (input, stdin) {
        tokio::io::copy(&mut input, &mut stdin).await?;
        stdin.shutdown().await?;
    }
    Ok(())
}

async fn drain(from: Option<impl AsyncRead + Unpin>, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    if let Some(mut from) = from {
        tokio::io::copy(&mut from, &mut to).await?;
        to.flush().await?;
    }
    Ok(())
}
