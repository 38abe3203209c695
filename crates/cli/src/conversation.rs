//! A command in a Sandbox, talked to from here: through a terminal or through pipes, until it has ended.

use std::io::ErrorKind;
use std::process::ExitCode;

use anyhow::{Error, Result};
use asb_client::{Ends, Error as Trouble, Process, Wanted};

use crate::{hints, output, terminal};

/// This program could not do its part.
pub(crate) const OWN_FAILURE: u8 = 125;
/// The command cannot be run.
const NOT_EXECUTABLE: u8 = 126;
/// There is no such command.
const NO_COMMAND: u8 = 127;
/// Nobody reads any more: 128 and the number of SIGPIPE.
const UNREAD: u8 = 141;

/// What is really wanted: without a terminal here there is none there.
pub(crate) fn possible(wanted: Wanted) -> Wanted {
    if wanted.tty && !terminal::has_keyboard() {
        output::note("standard input is no terminal, so the command gets none");
        return Wanted { tty: false, ..wanted };
    }
    wanted
}

/// Passes everything on, and ends as the command does.
pub(crate) async fn converse(process: Process, wanted: &Wanted) -> Result<ExitCode> {
    match talk(process, wanted).await {
        Ok(code) => Ok(exit_code(code)),
        Err(error) => failed(error),
    }
}

async fn talk(mut process: Process, wanted: &Wanted) -> Result<i32> {
    // Without input, keys stay what they are here.
    let _raw = if wanted.tty && wanted.stdin { Some(terminal::Raw::begin()?) } else { None };
    let sizes = process.sizes().map(terminal::tell_size);
    let ends = Ends {
        input: wanted.stdin.then(terminal::input),
        output: terminal::answers(),
        errors: terminal::complaints(),
    };
    let talk = process.pump(ends);
    match sizes {
        None => Ok(talk.await?),
        Some(sizes) => tokio::select! {
            code = talk => Ok(code?),
            Err(error) = sizes => Err(error),
        },
    }
}

/// Codes beyond what a process can end with are what a shell makes of them.
pub(crate) fn exit_code(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code & 0xff).unwrap_or(u8::MAX))
}

/// A command that could not be started ends as it does in a shell.
pub(crate) fn failed(error: Error) -> Result<ExitCode> {
    let code = match error.downcast_ref::<Trouble>() {
        Some(Trouble::NotStarted { message }) => unstartable(message),
        Some(Trouble::Transfer { source, .. }) if source.kind() == ErrorKind::BrokenPipe => {
            return Ok(ExitCode::from(UNREAD));
        }
        _ => return Err(error),
    };
    output::fail(&error, hints::of(&error).as_deref());
    Ok(ExitCode::from(code))
}

/// The code for a command that could not be started, by what was said about it.
pub(crate) fn unstartable(message: &str) -> u8 {
    let is_missing = ["not found", "no such file"].iter().any(|words| message.to_lowercase().contains(words));
    if is_missing { NO_COMMAND } else { NOT_EXECUTABLE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_not_there_is_told_from_one_that_cannot_run() {
        let missing = r#"exec: "nope": executable file not found in $PATH: unknown"#;
        assert_eq!(unstartable(missing), 127);
        assert_eq!(unstartable("stat /nope: no such file or directory"), 127);
        assert_eq!(unstartable("exec /etc/hosts: permission denied"), 126);
    }

    #[test]
    fn codes_are_cut_to_what_a_process_can_end_with() {
        assert_eq!(exit_code(7), ExitCode::from(7));
        assert_eq!(exit_code(256), ExitCode::from(0));
        assert_eq!(exit_code(-1), ExitCode::from(255));
    }
}
