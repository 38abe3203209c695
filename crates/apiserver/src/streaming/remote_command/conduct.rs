//! Carries bytes between a process and its client until the process has ended and all that it wrote is on its way.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, copy};
use tokio::sync::watch;

use super::super::pods::{Error, Input, Output, PodStreams, Process, TerminalSize};
use super::outcome::{Outcome, report};
use super::{Ends, Job};

/// One size is a few dozen bytes of JSON.
const LONGEST_SIZE: usize = 1024;

/// Runs the job and reports how it ended.
pub(super) async fn conduct<P: PodStreams>(job: &Job<P>, mut ends: Ends, protocol: &str) {
    let outcome = match job.start().await {
        Ok(process) => carry(process, &mut ends).await,
        Err(error) => Err(error),
    };
    let report = report(&outcome, protocol);
    // Fails only when the client has left, and then nobody wants to know.
    let _ = ends.error.write_all(report.as_bytes()).await;
    let _ = ends.error.shutdown().await;
}

/// The client's input is carried for as long as the process lives, and its end is passed on; but the process is not
/// over when the input is.
async fn carry(process: Process, ends: &mut Ends) -> Outcome {
    let Process { stdin, stdout, stderr, size, exit } = process;
    let input = async {
        tokio::join!(feed(ends.stdin.take(), stdin), resize(ends.resize.take(), size));
        std::future::pending::<()>().await;
    };
    let (out, err) = (ends.stdout.take(), ends.stderr.take());
    let output = async { tokio::join!(drain(stdout, out), drain(stderr, err), exit).2 };
    tokio::select! {
        outcome = output => outcome,
        () = input => Err(Error::Failed("the input ended the command".to_owned())),
    }
}

type ClientInput = Option<Box<dyn AsyncRead + Send + Unpin>>;
type ClientOutput = Option<Box<dyn tokio::io::AsyncWrite + Send + Unpin>>;

/// Input that breaks off must not look like its end, or a process would take half a file for a whole one. So it stays
/// open until the process is dropped.
async fn feed(from: ClientInput, to: Option<Input>) {
    let (Some(mut from), Some(mut to)) = (from, to) else { return };
    match copy(&mut from, &mut to).await {
        Ok(_) => drop(to.shutdown().await),
        Err(error) => {
            tracing::debug!(%error, "the input of a command broke off");
            std::future::pending::<()>().await;
        }
    }
}

async fn drain(from: Option<Output>, to: ClientOutput) {
    let Some(mut to) = to else { return };
    if let Some(mut from) = from
        && let Err(error) = copy(&mut from, &mut to).await
    {
        tracing::debug!(%error, "the output of a command broke off");
    }
    let _ = to.shutdown().await;
}

async fn resize(from: ClientInput, size: Option<watch::Sender<TerminalSize>>) {
    let (Some(mut from), Some(size)) = (from, size) else { return };
    let mut text = Vec::new();
    while from.read_buf(&mut text).await.is_ok_and(|read| read > 0) && text.len() < LONGEST_SIZE {
        take_sizes(&mut text, &size);
    }
}

/// Passes on the whole sizes in `text` and leaves what has not arrived yet.
fn take_sizes(text: &mut Vec<u8>, size: &watch::Sender<TerminalSize>) {
    let mut sizes = serde_json::Deserializer::from_slice(text).into_iter::<TerminalSize>();
    while let Some(Ok(wanted)) = sizes.next() {
        size.send_replace(wanted);
    }
    let read = sizes.byte_offset();
    text.drain(..read);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_however_they_are_cut() {
        let (sender, size) = watch::channel(TerminalSize::default());
        let mut text = br#"{"Width":80,"Height":24}{"Width":100,"He"#.to_vec();
        take_sizes(&mut text, &sender);
        assert_eq!(*size.borrow(), TerminalSize { width: 80, height: 24 });
        text.extend(br#"ight":30}"#);
        take_sizes(&mut text, &sender);
        assert_eq!(*size.borrow(), TerminalSize { width: 100, height: 30 });
    }
}
