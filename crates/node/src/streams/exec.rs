//! Processes that are executed in a container which runs already. They get what the container's own process got, no more:
//! only the command and the terminal are theirs.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use futures::FutureExt;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::unix::pipe;
use tokio::sync::watch;

use super::error::Error;
use super::session::{Input, Output, Session, Size, Wanted};
use super::terminal::Terminal;
use super::{Streams, Target};
use crate::shim::client::{self, Client};
use crate::shim::plan::Process;
use crate::shim::protocol::{Attempt, Reason};

/// What shells and other runtimes end with where there is no such program, and where it cannot be run.
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;

impl Streams {
    /// Starts a process. A program that cannot be run is told of on stderr, and by the exit code.
    pub async fn exec(&self, target: &Target, command: &[String], wanted: Wanted) -> Result<Session, Error> {
        let place = self.place(target)?;
        let (client, attempt) = place.running().await?;
        let plan = place.directory.container(&attempt)?;
        let plan = plan.ok_or_else(|| Error::NotRunning(place.container.clone()))?;
        let process = of_command(plan.process, command, wanted.terminal);
        let started = if wanted.terminal {
            with_terminal(client, &attempt, process, wanted).await
        } else {
            with_pipes(client, &attempt, process, wanted).await
        };
        match started {
            Err(Error::Shim(client::Error::Failed { reason: Reason::Program, message })) => {
                Ok(not_started(&message, wanted))
            }
            other => other,
        }
    }
}

fn of_command(container: Process, command: &[String], tty: bool) -> Process {
    let mut env = container.env;
    if tty && !env.iter().any(|variable| variable.starts_with("TERM=")) {
        env.push("TERM=xterm".to_owned());
    }
    Process { args: command.to_vec(), env, tty, ..container }
}

async fn with_terminal(
    mut client: Client,
    attempt: &Attempt,
    process: Process,
    wanted: Wanted,
) -> Result<Session, Error> {
    let failed = |error| Error::Step("use the terminal of a process", error);
    let executed = client.exec(attempt, process, &[]).await?;
    let master = executed.terminal.ok_or(Error::Shim(client::Error::Answer))?;
    let terminal = Terminal::new(master).map_err(failed)?;
    let (size, sizes) = watch::channel(Size::default());
    Ok(Session {
        stdin: wanted.stdin.then(|| Box::new(terminal.clone()) as _),
        stdout: wanted.stdout.then(|| Box::new(terminal.clone()) as _),
        stderr: None,
        size: Some(size),
        exit: async move {
            tokio::select! {
                status = client.wait_exec(executed.exec) => Ok(status?.code()),
                never = follow_size(sizes, terminal) => match never {},
            }
        }
        .boxed(),
    })
}

async fn follow_size(mut sizes: watch::Receiver<Size>, terminal: Terminal) -> std::convert::Infallible {
    while sizes.changed().await.is_ok() {
        let size = *sizes.borrow_and_update();
        if let Err(error) = terminal.resize(size) {
            tracing::debug!(%error, "a terminal keeps its size");
        }
    }
    // The terminal stays with us: only its holder's leaving hangs the process up.
    std::future::pending().await
}

async fn with_pipes(
    mut client: Client,
    attempt: &Attempt,
    process: Process,
    wanted: Wanted,
) -> Result<Session, Error> {
    let failed = |error| Error::Step("make the pipes of a process", error);
    let (stdin, their_stdin) = input(wanted.stdin).map_err(failed)?;
    let (stdout, their_stdout) = output(wanted.stdout).map_err(failed)?;
    let (stderr, their_stderr) = output(wanted.stderr).map_err(failed)?;
    let theirs = [their_stdin.as_fd(), their_stdout.as_fd(), their_stderr.as_fd()];
    let executed = client.exec(attempt, process, &theirs).await?;
    Ok(Session {
        stdin,
        stdout,
        stderr,
        size: None,
        exit: async move { Ok(client.wait_exec(executed.exec).await?.code()) }.boxed(),
    })
}

/// Our end, and theirs.
fn input(wanted: bool) -> io::Result<(Option<Input>, OwnedFd)> {
    if !wanted {
        return Ok((None, File::open("/dev/null")?.into()));
    }
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((Some(writer(write)?), read))
}

fn output(wanted: bool) -> io::Result<(Option<Output>, OwnedFd)> {
    if !wanted {
        return Ok((None, File::options().write(true).open("/dev/null")?.into()));
    }
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((Some(reader(read)?), write))
}

pub(super) fn writer(pipe: OwnedFd) -> io::Result<Input> {
    rustix::io::ioctl_fionbio(&pipe, true)?;
    Ok(Box::new(pipe::Sender::from_owned_fd(pipe)?))
}

pub(super) fn reader(pipe: OwnedFd) -> io::Result<Output> {
    rustix::io::ioctl_fionbio(&pipe, true)?;
    Ok(Box::new(pipe::Receiver::from_owned_fd(pipe)?))
}

/// A process that has said why it is none, and ended.
fn not_started(message: &str, wanted: Wanted) -> Session {
    let missing = ["not found", "no such file"].iter().any(|words| message.contains(words));
    let code = if missing { NOT_FOUND } else { NOT_EXECUTABLE };
    let line_end = if wanted.terminal { "\r\n" } else { "\n" };
    let said = format!("exec failed: unable to start container process: {message}{line_end}");
    let said = || -> Output { Box::new(io::Cursor::new(said.into_bytes())) };
    let on_stderr = wanted.stderr && !wanted.terminal;
    let (stdout, stderr) = match (on_stderr, wanted.terminal && wanted.stdout) {
        (true, _) => (None, Some(said())),
        (false, true) => (Some(said()), None),
        (false, false) => (None, None),
    };
    Session { stdin: None, stdout, stderr, size: None, exit: async move { Ok(code) }.boxed() }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::shim::plan::{Seccomp, User};

    fn container() -> Process {
        Process {
            args: vec!["server".to_owned()],
            env: vec!["A=1".to_owned()],
            cwd: "/srv".into(),
            user: User { uid: 7, gid: 8, groups: vec![9] },
            capabilities: vec!["CHOWN".to_owned()],
            no_new_privileges: true,
            seccomp: Seccomp::Default,
            rlimits: Vec::new(),
            tty: true,
        }
    }

    #[test]
    fn a_command_is_confined_as_its_container_is() {
        let command = ["id".to_owned()];
        let expected = Process { args: command.to_vec(), tty: false, ..container() };
        assert_eq!(of_command(container(), &command, false), expected);
    }

    #[test]
    fn a_terminal_has_a_name_unless_the_container_gave_it_one() {
        assert_eq!(of_command(container(), &[], true).env, ["A=1", "TERM=xterm"]);
        let named = Process { env: vec!["TERM=vt100".to_owned()], ..container() };
        assert_eq!(of_command(named, &[], true).env, ["TERM=vt100"]);
    }

    #[tokio::test]
    async fn what_cannot_be_run_says_so_where_errors_are_read() {
        let wanted = Wanted { stdout: true, stderr: true, ..Wanted::default() };
        let session = not_started("exec: \"nope\": executable file not found in $PATH", wanted);
        let mut text = String::new();
        session.stderr.unwrap().read_to_string(&mut text).await.unwrap();
        assert_eq!(
            text,
            "exec failed: unable to start container process: exec: \"nope\": executable file not found in $PATH\n"
        );
        assert!(session.stdout.is_none());
        assert_eq!(session.exit.await.unwrap(), 127);
        let denied = not_started("exec: \"/etc/passwd\": permission denied", wanted);
        assert_eq!(denied.exit.await.unwrap(), 126);
    }
}
