//! The ends of a process over a WebSocket: each has a channel with a fixed number.

use axum::extract::ws::WebSocket;
use tokio::io::AsyncWriteExt;

use super::super::channels::{Channel, Channels, HalfClose};
use super::super::multiplex::Patience;
use super::super::pods::{PodStreams, Wanted};
use super::conduct::conduct;
use super::{Ends, Job, V5};

/// Input, output, errors, status and terminal size.
const CHANNELS: u8 = 5;

pub(super) async fn serve<P: PodStreams>(job: Job<P>, socket: WebSocket, protocol: &'static str) {
    let half_close = if protocol == V5 { HalfClose::BySignal } else { HalfClose::Never };
    let (session, channels) = Channels::serve(socket, CHANNELS, half_close, Patience::Endless);
    let Ok(channels) = <[Channel; CHANNELS as usize]>::try_from(channels) else { return };
    let ends = open(channels, job.wanted).await;
    tokio::select! {
        () = conduct(&job, ends, protocol) => session.finish().await,
        () = session.lost() => {}
    }
}

/// Clients wait for a first message, however empty, to know that they are connected.
async fn open(channels: [Channel; CHANNELS as usize], wanted: Wanted) -> Ends {
    let [stdin, mut stdout, mut stderr, mut error, resize] = channels;
    let first = match wanted {
        Wanted { stdout: true, .. } => &mut stdout,
        Wanted { stderr: true, .. } => &mut stderr,
        _ => &mut error,
    };
    // Fails only when the client has left, which whoever writes next will notice.
    let _ = first.write(&[]).await;
    Ends {
        stdin: wanted.stdin.then(|| Box::new(stdin) as _),
        stdout: wanted.stdout.then(|| Box::new(stdout) as _),
        stderr: wanted.stderr.then(|| Box::new(stderr) as _),
        resize: wanted.terminal.then(|| Box::new(resize) as _),
        error: Box::new(error),
    }
}
