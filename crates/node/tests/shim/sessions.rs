//! Streams of Pods as the API server asks for them: by the names of a Pod and a container, with a real shim behind.

mod commands;
mod logs;
mod others;

use anyhow::{Context, Result};
use asb_node::cache::Cache;
use asb_node::streams::{Error, Session, Streams, Target, Wanted};
use k8s_openapi::api::core::v1::{Container, Pod as Object, PodSpec};
use libtest_mimic::Trial;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::fixture::{Pod, attempt};

pub(crate) fn trials() -> Vec<Trial> {
    [commands::trials(), logs::trials(), others::trials()].into_iter().flatten().collect()
}

pub(crate) const EVERYTHING: Wanted = Wanted { stdin: true, stdout: true, stderr: true, terminal: false };
pub(crate) const TERMINAL: Wanted = Wanted { stdin: true, stdout: true, stderr: false, terminal: true };

/// The Pod as the API server has it: `team/box` with a container `main`.
pub(crate) fn object(pod: &Pod) -> Object {
    let main = Container { name: "main".to_owned(), ..Container::default() };
    let node_name = Some("here".to_owned());
    let mut object = Object::default();
    object.metadata.namespace = Some("team".to_owned());
    object.metadata.name = Some("box".to_owned());
    object.metadata.uid = Some(pod.plan.uid.clone());
    object.spec = Some(PodSpec { containers: vec![main], node_name, ..PodSpec::default() });
    object
}

pub(crate) fn streams(pod: &Pod) -> Streams {
    Streams::new(pod.root(), Cache::holding([object(pod)]))
}

pub(crate) fn target() -> Target {
    Target { namespace: "team".to_owned(), pod: "box".to_owned(), container: None }
}

/// A container that waits, and the streams of its Pod.
pub(crate) async fn waiting(pod: &mut Pod) -> Result<Streams> {
    let plan = pod.shell("sleep 1000");
    pod.start(&attempt("main", 0), plan).await?;
    Ok(streams(pod))
}

pub(crate) async fn shell(streams: &Streams, script: &str, wanted: Wanted) -> Result<Session, Error> {
    let command = ["/bin/sh", "-c", script].map(str::to_owned);
    streams.exec(&target(), &command, wanted).await
}

/// Feeds it, and reads all that it says to its end.
pub(crate) async fn talk(mut session: Session, input: &str) -> Result<(i32, String, String)> {
    if let Some(mut stdin) = session.stdin.take() {
        stdin.write_all(input.as_bytes()).await?;
    }
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let stdout = async { read_all(session.stdout.take(), &mut out).await };
    let stderr = async { read_all(session.stderr.take(), &mut err).await };
    let (first, second, code) = tokio::join!(stdout, stderr, session.exit);
    first.and(second)?;
    Ok((code?, String::from_utf8(out)?, String::from_utf8(err)?))
}

async fn read_all(from: Option<asb_node::streams::Output>, to: &mut Vec<u8>) -> Result<()> {
    if let Some(mut from) = from {
        from.read_to_end(to).await.context("read output")?;
    }
    Ok(())
}
