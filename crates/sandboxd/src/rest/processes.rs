//! `/v1/processes`: start, list, signal, write to and wait for processes. Their output is the business of `output` and `attach`.

use std::rc::Rc;
use std::time::Duration;

use http::{Request, StatusCode};
use hyper::body::Incoming;
use rustix::fs::OFlags;

use super::{Answer, done, json};
use crate::failure::{Code, Failure};
use crate::files::path::Inside;
use crate::http::answer;
use crate::http::payload::Reply;
use crate::http::query::Query;
use crate::processes::launch::Launch;
use crate::processes::process::Process;
use crate::processes::{Keep, signals};
use crate::server::Server;
use crate::wire::processes::{ProcessList, SendSignal, StartProcess, Taken, TerminalSize};

const SHELL: &str = "/bin/sh";
/// A year, beyond which clocks cannot count.
const LONGEST: f64 = 31_536_000.0;
const LONGEST_TAG: usize = 256;

pub(super) async fn start(server: &Rc<Server>, request: Request<Incoming>) -> Answer {
    let asked: StartProcess = json(server, request).await?;
    let launch = launch(server, asked)?;
    check_size(server, &launch)?;
    let process = server.processes.start(launch, Keep::Finished)?;
    Ok(answer::json(StatusCode::CREATED, &process.shown()))
}

fn launch(server: &Server, asked: StartProcess) -> Result<Launch, Failure> {
    let command = match (asked.command, asked.shell) {
        (command, None) => command,
        (command, Some(line)) if command.is_empty() => vec![SHELL.to_owned(), "-c".to_owned(), line],
        _ => return Err(Failure::invalid("give either command or shell")),
    };
    if asked.tag.as_ref().is_some_and(|tag| tag.len() > LONGEST_TAG) {
        return Err(Failure::invalid(format!("a tag has at most {LONGEST_TAG} bytes")));
    }
    let timeout = asked.timeout_seconds.map(seconds).transpose()?;
    Ok(Launch {
        env: asked.env,
        terminal: asked.pty,
        input: asked.stdin,
        tag: asked.tag,
        on_disconnect: asked.on_disconnect,
        on_overflow: asked.on_overflow,
        timeout,
        ..Launch::new(command, directory(server, asked.cwd.as_deref())?)
    })
}

fn seconds(seconds: f64) -> Result<Duration, Failure> {
    if seconds > 0.0 {
        return Ok(Duration::from_secs_f64(seconds.min(LONGEST)));
    }
    Err(Failure::invalid("timeoutSeconds is more than 0"))
}

/// Where a process begins. Both contracts that let clients choose stay inside the root.
pub(crate) fn directory(server: &Server, cwd: Option<&str>) -> Result<std::os::fd::OwnedFd, Failure> {
    let inside = cwd.map_or_else(|| Ok(Inside::root()), |cwd| server.inside(cwd.as_bytes()))?;
    if inside.climbed() {
        return Err(Failure::new(
            Code::PermissionDenied,
            "the working directory leads out of the root directory",
        ));
    }
    let opened = server.root.get(&inside, OFlags::PATH | OFlags::DIRECTORY);
    opened.map_err(|errno| Failure::of(errno, &format!("the working directory {}", inside.shown())))
}

pub(crate) fn check_size(server: &Server, launch: &Launch) -> Result<(), Failure> {
    let most = server.settings.limits.argument_bytes;
    if launch.size() as u64 > most {
        return Err(Failure::invalid(format!("arguments and variables are larger than {most} bytes")));
    }
    Ok(())
}

pub(super) fn list(server: &Server, query: &Query) -> Reply {
    let wanted = query.get("tag");
    let all = server.processes.all();
    let matching = all.iter().filter(|process| wanted.is_none() || process.tag() == wanted);
    answer::ok(&ProcessList { processes: matching.map(|process| process.shown()).collect() })
}

pub(super) fn get(server: &Server, id: u32) -> Answer {
    server.processes.find(id).map(|process| answer::ok(&process.shown()))
}

pub(super) fn remove(server: &Server, id: u32) -> Answer {
    server.processes.remove(&*server.processes.find(id)?);
    Ok(done())
}

pub(super) async fn signal(server: &Server, request: Request<Incoming>, id: u32) -> Answer {
    let process = server.processes.find(id)?;
    let asked: SendSignal = json(server, request).await?;
    let signal = signals::find(&asked.signal).ok_or_else(|| Failure::invalid("there is no such signal"))?;
    process.signal(signal)?;
    Ok(done())
}

pub(super) async fn resize(server: &Server, request: Request<Incoming>, id: u32) -> Answer {
    let process = server.processes.find(id)?;
    let size: TerminalSize = json(server, request).await?;
    process.resize(size)?;
    Ok(done())
}

/// The body is what it reads; with `?close=true` nothing follows.
pub(super) async fn input(server: &Server, request: Request<Incoming>, query: &Query, id: u32) -> Answer {
    let process = server.processes.find(id)?;
    let close = query.flag("close")?;
    if query.flag("partial")? {
        let body = server.small_body(request).await?;
        return some_input(&process, &body, close).await;
    }
    let mut chunks = server.large_body(request);
    while let Some(bytes) = chunks.next().await? {
        process.write(&bytes).await?;
    }
    if close {
        process.close_input().await?;
    }
    Ok(done())
}

/// For whoever reads its output too, and cannot do both at a time: answers when it waits for them.
async fn some_input(process: &Process, bytes: &[u8], close: bool) -> Answer {
    let taken = process.write_some(bytes).await?;
    if close && taken == bytes.len() {
        process.close_input().await?;
    }
    Ok(answer::ok(&Taken { taken: taken as u64 }))
}

/// Answers when it has ended, or with `?timeout=SECONDS` when that is over; what it says tells which.
pub(super) async fn wait(server: &Server, query: &Query, id: u32) -> Answer {
    let process = server.processes.find(id)?;
    let patience = query.number::<f64>("timeout")?.map(seconds).transpose()?;
    match patience {
        None => process.finished().await,
        // What it was then, it is.
        Some(patience) => drop(tokio::time::timeout(patience, process.finished()).await),
    }
    Ok(answer::ok(&process.shown()))
}
