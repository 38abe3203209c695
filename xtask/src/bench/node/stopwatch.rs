//! Times a program: until its first word, and until it has ended.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

#[derive(Clone, Copy)]
pub(super) struct Life {
    /// Until the first byte of its output.
    pub(super) word: Duration,
    /// Until it had ended.
    pub(super) whole: Duration,
}

/// Runs it to its end. That it fails, or says nothing, is an error.
pub(super) fn life(command: &mut Command) -> Result<Life> {
    let start = Instant::now();
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("starting a program")?;
    let mut output = child.stdout.take().context("its output is piped")?;
    let heard = output.read_exact(&mut [0]);
    let word = start.elapsed();
    let status = child.wait()?;
    let whole = start.elapsed();
    ensure!(status.success() && heard.is_ok(), "{} failed ({status})", command.get_program().display());
    Ok(Life { word, whole })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_comes_before_the_end() {
        let life = life(Command::new("sh").args(["-c", "echo; sleep 0"])).unwrap();
        assert!(life.word <= life.whole);
    }

    #[test]
    fn a_failure_is_no_time() {
        assert!(life(Command::new("sh").args(["-c", "echo; exit 3"])).is_err());
        assert!(life(&mut Command::new("true")).is_err());
    }
}
