//! A stand-in for the node: commands run on this machine, ports are ports of this machine, and a terminal is an echo.

use std::io;
use std::process::Stdio;
use std::sync::Arc;

use asb_apiserver::security::authentication::User;
use asb_apiserver::streaming::{
    Connection, Container, Error, Log, LogOptions, Pod, PodStreams, Process, TerminalSize, Wanted,
};
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::sync::{Notify, watch};
use tokio_util::task::TaskTracker;

pub(crate) struct LocalNode {
    /// Holds a token for each process that somebody still holds.
    pub(crate) processes: TaskTracker,
    /// Lets a followed log go on.
    pub(crate) more_log: Arc<Notify>,
}

impl PodStreams for LocalNode {
    async fn exec(&self, _: &Container, command: &[String], wanted: Wanted) -> Result<Process, Error> {
        if wanted.terminal { Ok(terminal()) } else { self.start(command, wanted) }
    }

    /// The main process repeats what it is told.
    async fn attach(&self, _: &Container, wanted: Wanted) -> Result<Process, Error> {
        self.start(&["cat".to_owned()], wanted)
    }

    async fn port_forward(&self, _: &Pod, port: u16, _: &User) -> Result<Box<dyn Connection>, Error> {
        let connection = TcpStream::connect(("127.0.0.1", port)).await;
        connection.map(|it| Box::new(it) as _).map_err(|error| Error::Failed(error.to_string()))
    }

    async fn logs(&self, container: &Container, options: &LogOptions) -> Result<Log, Error> {
        if container.name.as_deref().is_some_and(|name| name != "main") {
            return Err(Error::NotFound("there is only the container main".to_owned()));
        }
        let written = written(options);
        if !options.follow {
            return Ok(written.boxed());
        }
        let more = Arc::clone(&self.more_log);
        let rest = stream::once(async move {
            more.notified().await;
            io::Result::Ok(Bytes::from("three\n"))
        });
        Ok(written.chain(rest).boxed())
    }
}

/// Two lines, and one before the last restart.
fn written(options: &LogOptions) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
    let lines: &[&str] = if options.previous { &["before\n"] } else { &["one\n", "two\n"] };
    let tail = options.tail_lines.and_then(|lines| usize::try_from(lines).ok()).unwrap_or(usize::MAX);
    let lines = lines[lines.len().saturating_sub(tail)..].iter().map(|line| Ok(Bytes::from(*line)));
    stream::iter(lines.collect::<Vec<_>>())
}

impl LocalNode {
    fn start(&self, command: &[String], wanted: Wanted) -> Result<Process, Error> {
        let pipe = |wanted| if wanted { Stdio::piped() } else { Stdio::null() };
        let (program, arguments) = command.split_first().expect("a command has a first word");
        let child = Command::new(program)
            .args(arguments)
            .stdin(pipe(wanted.stdin))
            .stdout(pipe(wanted.stdout))
            .stderr(pipe(wanted.stderr))
            .kill_on_drop(true)
            .spawn();
        let mut child = child.map_err(|error| Error::Failed(format!("{program}: {error}")))?;
        let token = self.processes.token();
        Ok(Process {
            stdin: child.stdin.take().map(|it| Box::new(it) as _),
            stdout: child.stdout.take().map(|it| Box::new(it) as _),
            stderr: child.stderr.take().map(|it| Box::new(it) as _),
            size: None,
            exit: Box::pin(async move {
                let _token = token;
                let status = child.wait().await.map_err(|error| Error::Failed(error.to_string()))?;
                Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(137))
            }),
        })
    }
}

/// Says the size of its window whenever it changes, repeats lines, and exits with the code it is told.
fn terminal() -> Process {
    let (client, inside) = duplex(4096);
    let (output, input) = split(client);
    let (size, sizes) = watch::channel(TerminalSize::default());
    Process {
        stdin: Some(Box::new(input)),
        stdout: Some(Box::new(output)),
        stderr: None,
        size: Some(size),
        exit: Box::pin(async move {
            shell(inside, sizes).await.map_err(|error| Error::Failed(error.to_string()))
        }),
    }
}

async fn shell(inside: DuplexStream, mut sizes: watch::Receiver<TerminalSize>) -> io::Result<u8> {
    let (input, mut output) = split(inside);
    let mut lines = BufReader::new(input).lines();
    loop {
        let said = tokio::select! {
            Ok(()) = sizes.changed() => {
                let size = *sizes.borrow_and_update();
                format!("size {}x{}\r\n", size.width, size.height)
            }
            line = lines.next_line() => match line? {
                None => return Ok(0),
                Some(line) => match line.trim().strip_prefix("exit ") {
                    Some(code) => return Ok(code.parse().unwrap_or(255)),
                    None => format!("you said {}\r\n", line.trim()),
                }
            },
        };
        output.write_all(said.as_bytes()).await?;
    }
}
