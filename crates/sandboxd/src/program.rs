//! What the program `sandboxd` does with its command line.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::task::LocalSet;

use crate::files::root::Root;
use crate::http::route;
use crate::processes::Processes;
use crate::server::Server;
use crate::settings::{self, HELP, Settings, Task, limits};
use crate::{init, install};

const MISUSE: u8 = 2;
/// Where upstream's images keep their files.
const USUAL_ROOTS: &[&str] = &["/app", "/workspace"];
/// Threads for disks, besides those that carry archives.
const DISK_THREADS: usize = 8;
const IDLE_THREAD: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("the root directory {0}: {1}")]
    Root(PathBuf, #[source] io::Error),
    #[error("listening on {0}: {1}")]
    Listen(std::net::SocketAddr, #[source] io::Error),
    #[error("starting {0}: {1}")]
    Command(String, #[source] io::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
}

pub fn run() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    match settings::parse(&arguments, &|name| std::env::var(name).ok()) {
        Ok(Task::Help) => said(&format!("{HELP}{}", limits::help())),
        Ok(Task::Version) => said(&format!("sandboxd {}\n", env!("CARGO_PKG_VERSION"))),
        Ok(Task::Install(directory)) => installed(&directory),
        Ok(Task::Serve(settings)) => served(*settings),
        Err(misuse) => {
            complain(&format!("{misuse}\nTry `sandboxd --help`."));
            ExitCode::from(MISUSE)
        }
    }
}

/// Every endpoint of HTTP that is served: a path, where `{path}` and `{id}` stand for what is asked for, and its methods.
pub fn endpoints() -> impl Iterator<Item = (&'static str, &'static str)> {
    route::table().into_iter().map(|endpoint| (endpoint.pattern, endpoint.methods))
}

fn said(text: &str) -> ExitCode {
    // Whoever closed the pipe does not want to know more.
    let _ = io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "sandboxd: {text}");
}

fn installed(directory: &Path) -> ExitCode {
    match install::install(Path::new("/proc/self/exe"), directory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("installing into {}: {error}", directory.display()));
            ExitCode::FAILURE
        }
    }
}

fn served(settings: Settings) -> ExitCode {
    let threads = DISK_THREADS.saturating_add(limits::size(settings.limits.transfers));
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(threads)
        .thread_keep_alive(IDLE_THREAD)
        .build();
    let ended = runtime.map_err(Failed::from).and_then(|runtime| {
        let ended = LocalSet::new().block_on(&runtime, serve(settings));
        // Whoever reads from a slow disk or to a slow client is not waited for.
        runtime.shutdown_background();
        ended
    });
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(failed) => {
            complain(&failed.to_string());
            ExitCode::from(code_of(&failed))
        }
    }
}

fn code_of(failed: &Failed) -> u8 {
    match failed {
        Failed::Command(_, error) if error.kind() == io::ErrorKind::NotFound => init::NOT_FOUND,
        Failed::Command(..) => init::NOT_EXECUTABLE,
        _ => 1,
    }
}

async fn serve(settings: Settings) -> Result<u8, Failed> {
    let root = root(settings.root.as_deref())?;
    let patience = Duration::from_secs(settings.limits.kill_seconds);
    let processes = Processes::new(settings.limits.processes());
    let command = settings.command.clone();
    let server = Server::new(settings, root, processes.clone());
    let mut signals = init::signals()?;
    init::reap(&processes)?;
    listen(&server).await?;
    if command.is_empty() {
        complain(&format!("serving {} on {}", server.root.path().display(), shown(&server)));
    }
    let main = match command.first() {
        None => None,
        Some(name) => {
            let started = init::start(&processes, &command);
            Some(started.map_err(|error| Failed::Command(name.clone(), error))?)
        }
    };
    let code = loop {
        tokio::select! {
            ended = processes.main_ended() => break u8::try_from(ended.code() & 0xff).unwrap_or_default(),
            Some(signal) = signals.recv() => {
                let ends = [Signal::TERM, Signal::INT].contains(&signal);
                server.draining.set(server.draining.get() || ends);
                match main {
                    Some(main) => init::pass(signal, main),
                    None if ends => break 0,
                    None => {}
                }
            }
        }
    };
    server.draining.set(true);
    processes.end_all(patience).await;
    Ok(code)
}

fn shown(server: &Server) -> String {
    server.addresses().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

async fn listen(server: &Rc<Server>) -> Result<(), Failed> {
    for address in server.addresses() {
        let listener = TcpListener::bind(address).await.map_err(|error| Failed::Listen(address, error))?;
        tokio::task::spawn_local(server.clone().listen(listener));
    }
    Ok(())
}

/// One rule for all contracts: what was said, else where upstream's images keep their files, else where we are.
fn root(said: Option<&Path>) -> Result<Root, Failed> {
    let usual = USUAL_ROOTS.iter().map(Path::new).find(|path| path.is_dir());
    let path = said.or(usual).unwrap_or(Path::new("."));
    let failed = |error| Failed::Root(path.to_owned(), error);
    if said.is_some() {
        std::fs::create_dir_all(path).map_err(failed)?;
    }
    Root::open(path).map_err(failed)
}
