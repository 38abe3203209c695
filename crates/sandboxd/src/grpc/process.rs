//! `process.v1.ProcessService`, as upstream's sandboxd has it: numbers that count from 1, processes that live as long as the call
//! that started them, and statuses that clients tell cases apart by.

use std::rc::Rc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;

use super::call::{answered, in_time, late, question, stream};
use super::frame::encode;
use super::trailers;
use crate::failure::{Code, Failure};
use crate::http::payload::{Feed, Gone, Reply};
use crate::processes::launch::Launch;
use crate::processes::process::{Ended, Process};
use crate::processes::reader::{Next, Reader, Taking};
use crate::processes::run::{Waited, run};
use crate::processes::signals;
use crate::rest::{check_size, directory};
use crate::server::Server;
use crate::settings::limits::size;
use crate::wire::grpc::{
    ExecuteRequest, ExecuteResponse, ExitEvent, InitEvent, ProcessConfig, ResizeTtyRequest,
    SendSignalRequest, StartEvent, StartRequest, StartResponse, StdinPayload, WriteStdinRequest,
};
use crate::wire::processes::{SignalName, Stream, TerminalSize};

/// Upstream's pieces of output.
const CHUNK: usize = 4096;
const SIGNALS: &[i32] = &[2, 9, 15];

type Answer = Result<Reply, Failure>;

pub(super) async fn execute(server: Rc<Server>, request: Request<Incoming>) -> Answer {
    let (asked, patience) = question::<ExecuteRequest>(&server, request).await?;
    let launch = launch(&server, asked.config)?;
    let most = size(server.settings.limits.output_bytes);
    // When time is over this is dropped, and the process killed with it.
    let outcome = in_time(patience, run(&server.processes, launch, most)).await?;
    let mut stderr = outcome.stderr;
    if outcome.truncated {
        stderr.extend(format!("\nsandboxd: output beyond {most} bytes was cut off\n").into_bytes());
    }
    let exit_code = exit_code(&server, Some(outcome.ended));
    Ok(answered(&ExecuteResponse { exit_code, stdout: outcome.stdout, stderr }).await)
}

pub(super) async fn start(server: Rc<Server>, request: Request<Incoming>) -> Answer {
    let (asked, patience) = question::<StartRequest>(&server, request).await?;
    let mut launch = launch(&server, asked.config)?;
    launch.input = true;
    launch.terminal = asked.pty.map(|pty| terminal_size(pty.cols, pty.rows)).transpose()?;
    let waited = Waited::start(&server.processes, launch)?;
    let (feed, reply) = stream();
    tokio::task::spawn_local(tell(server, waited, feed, patience));
    Ok(reply)
}

/// Until the process has ended, the client has gone, or its time is over. The process goes with this.
async fn tell(server: Rc<Server>, waited: Waited, feed: Feed, patience: Option<Duration>) {
    let told = in_time(patience, async { Ok(events(&server, &waited.process, &feed).await) });
    let outcome = tokio::select! {
        biased;
        () = feed.closed() => return,
        told = told => told,
    };
    let outcome = outcome.map(drop).map_err(|_| late());
    // Whoever has gone meanwhile does not want to know.
    let _ = feed.trailers(trailers(outcome.as_ref().err())).await;
}

async fn events(server: &Server, process: &Rc<Process>, feed: &Feed) -> Result<(), Gone> {
    let mut reader = Reader::from(process.clone(), 0, Taking::Sent);
    let process_id = i32::try_from(process.id).unwrap_or(i32::MAX);
    send(feed, StartEvent::Init(InitEvent { process_id })).await?;
    loop {
        match reader.next(CHUNK).await {
            Next::Data { stream: Stream::Stderr, bytes, .. } => send(feed, StartEvent::Stderr(bytes)).await?,
            Next::Data { bytes, .. } => send(feed, StartEvent::Stdout(bytes)).await?,
            // It waits for us.
            Next::Lost { .. } => {}
            Next::End(_) => {
                let exit_code = exit_code(server, process.ended());
                return send(feed, StartEvent::Exit(ExitEvent { exit_code })).await;
            }
        }
    }
}

async fn send(feed: &Feed, event: StartEvent) -> Result<(), Gone> {
    feed.send(encode(&StartResponse { event: Some(event) })).await
}

pub(super) async fn write_stdin(server: Rc<Server>, request: Request<Incoming>) -> Answer {
    let (asked, patience) = question::<WriteStdinRequest>(&server, request).await?;
    let process = find(&server, asked.process_id)?;
    match asked.payload {
        None => return Err(Failure::invalid("there is neither input nor its end")),
        Some(StdinPayload::Input(bytes)) => in_time(patience, process.write(&bytes)).await?,
        // Upstream closes its side of the terminal.
        Some(StdinPayload::Eof(())) if process.has_terminal() => process.hang_up(),
        Some(StdinPayload::Eof(())) => process.close_input().await?,
    }
    Ok(answered(&()).await)
}

pub(super) async fn send_signal(server: Rc<Server>, request: Request<Incoming>) -> Answer {
    let (asked, _) = question::<SendSignalRequest>(&server, request).await?;
    let signal = signals::find(&SignalName::Number(asked.signal)).filter(|_| SIGNALS.contains(&asked.signal));
    let signal = signal.ok_or_else(|| Failure::invalid("the signal is SIGINT, SIGKILL or SIGTERM"))?;
    find(&server, asked.process_id)?.signal(signal)?;
    Ok(answered(&()).await)
}

pub(super) async fn resize_tty(server: Rc<Server>, request: Request<Incoming>) -> Answer {
    let (asked, _) = question::<ResizeTtyRequest>(&server, request).await?;
    find(&server, asked.process_id)?.resize(terminal_size(asked.cols, asked.rows)?)?;
    Ok(answered(&()).await)
}

fn find(server: &Server, id: i32) -> Result<Rc<Process>, Failure> {
    let missing = || Failure::not_found(format!("there is no process {id}"));
    server.processes.find(u32::try_from(id).map_err(|_| missing())?)
}

fn launch(server: &Server, config: Option<ProcessConfig>) -> Result<Launch, Failure> {
    let config = config.unwrap_or_default();
    if config.command.first().is_none_or(String::is_empty) {
        return Err(Failure::invalid("there is no command"));
    }
    let directory = directory(server, config.cwd.as_deref().filter(|cwd| !cwd.is_empty()))?;
    let mut launch = Launch::new(config.command, directory);
    launch.env = config.env_vars.into_iter().collect();
    check_size(server, &launch)?;
    Ok(launch)
}

fn terminal_size(cols: u32, rows: u32) -> Result<TerminalSize, Failure> {
    match (u16::try_from(cols), u16::try_from(rows)) {
        (Ok(cols), Ok(rows)) => Ok(TerminalSize { cols, rows }),
        _ => Err(Failure::new(Code::InvalidArgument, "a terminal has at most 65535 columns and rows")),
    }
}

/// Upstream says -1 of a process that a signal ended, and since its 1.0.7 what a shell says.
fn exit_code(server: &Server, ended: Option<Ended>) -> i32 {
    match ended {
        Some(Ended::Code(code)) => code,
        Some(ended @ Ended::Signal(_)) if server.settings.signal_exit_codes => ended.code(),
        _ => -1,
    }
}
