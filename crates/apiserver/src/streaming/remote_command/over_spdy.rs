//! The ends of a process over SPDY: the client opens a stream for each and names it in a header.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::super::multiplex::Patience;
use super::super::pods::{PodStreams, Wanted};
use super::super::spdy::{Session, Stream};
use super::conduct::conduct;
use super::{Ends, Job, V2};

/// How long a client may take to open its streams.
const OPENING: Duration = Duration::from_secs(30);

pub(super) async fn serve<P, C>(job: Job<P>, connection: C, protocol: &'static str)
where
    P: PodStreams,
    C: AsyncRead + AsyncWrite + Send + 'static,
{
    let mut session = Session::serve(connection, Patience::Endless);
    let names = names(job.wanted, protocol);
    let Ok(Some(ends)) = timeout(OPENING, open(&mut session, &names)).await else {
        tracing::debug!(wanted = ?names, "a client did not open the streams it asked for");
        return session.finish().await;
    };
    tokio::select! {
        () = conduct(&job, ends, protocol) => session.finish().await,
        () = left(&mut session) => {}
    }
}

/// The streams that a client with these wishes opens. Sizes of the terminal came with v3.
fn names(wanted: Wanted, protocol: &str) -> Vec<&'static str> {
    let names = [
        ("error", true),
        ("stdin", wanted.stdin),
        ("stdout", wanted.stdout),
        ("stderr", wanted.stderr),
        ("resize", wanted.terminal && protocol != V2),
    ];
    names.into_iter().filter(|(_, wanted)| *wanted).map(|(name, _)| name).collect()
}

/// Every stream in `names`, or nothing if the client leaves before. Others are refused.
async fn open(session: &mut Session, names: &[&'static str]) -> Option<Ends> {
    let mut streams = BTreeMap::<&str, Stream>::new();
    while streams.len() < names.len() {
        let offer = session.next().await?;
        let kind = offer.headers.get("streamtype");
        let name = names.iter().copied().find(|name| Some(*name) == kind);
        if let Some(name) = name.filter(|name| !streams.contains_key(name)) {
            streams.insert(name, offer.accept().await.ok()?);
        }
    }
    Some(Ends {
        stdin: streams.remove("stdin").map(|stream| Box::new(stream) as _),
        stdout: streams.remove("stdout").map(|stream| Box::new(stream) as _),
        stderr: streams.remove("stderr").map(|stream| Box::new(stream) as _),
        resize: streams.remove("resize").map(|stream| Box::new(stream) as _),
        error: streams.remove("error").map(|stream| Box::new(stream) as _)?,
    })
}

/// Ends when the client has left. Streams that it opens until then are refused.
async fn left(session: &mut Session) {
    while session.next().await.is_some() {}
}

#[cfg(test)]
mod tests {
    use super::super::{V3, V4};
    use super::*;

    #[test]
    fn only_what_is_wanted_is_waited_for() {
        let wanted = Wanted { stdin: true, stdout: true, stderr: false, terminal: true };
        assert_eq!(names(wanted, V4), ["error", "stdin", "stdout", "resize"]);
        assert_eq!(names(wanted, V3), names(wanted, V4));
        assert_eq!(names(wanted, V2), ["error", "stdin", "stdout"]);
    }
}
