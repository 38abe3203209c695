//! How the program ends when the command has: with its code, and with a word where the code does not tell why. Pure but
//! for that word.

use std::process::ExitCode;

use asb_client::Ending;

use super::TIMED_OUT;
use crate::conversation::{self, unstartable};
use crate::output;

pub(super) fn exit_code(ending: &Ending) -> ExitCode {
    let (code, word) = verdict(ending);
    if let Some(word) = word {
        output::note(&word);
    }
    code
}

fn verdict(ending: &Ending) -> (ExitCode, Option<String>) {
    if ending.is_timeout() {
        return (ExitCode::from(TIMED_OUT), Some("stopped: its time was up".to_owned()));
    }
    if ending.is_start_error() {
        let word = format!("the command could not be started: {}", ending.message.trim());
        return (ExitCode::from(unstartable(&ending.message)), Some(word));
    }
    (conversation::exit_code(ending.exit_code), word(ending))
}

/// What a code does not tell.
fn word(ending: &Ending) -> Option<String> {
    match ending.reason.as_str() {
        "" | "Completed" | "Error" => None,
        "OOMKilled" => Some("stopped: it used more memory than it may".to_owned()),
        reason if ending.message.is_empty() => Some(format!("ended: {reason}")),
        reason => Some(format!("ended: {reason}: {}", ending.message.trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(exit_code: i32, reason: &str, message: &str) -> Ending {
        Ending { exit_code, reason: reason.to_owned(), message: message.to_owned() }
    }

    #[test]
    fn the_code_is_the_commands_and_a_word_says_what_it_does_not_tell() {
        insta::assert_debug_snapshot!([
            verdict(&ending(0, "Completed", "")),
            verdict(&ending(3, "Error", "")),
            verdict(&ending(137, "OOMKilled", "")),
            verdict(&ending(137, "DeadlineExceeded", "")),
            verdict(&ending(128, "StartError", "exec: \"nope\": executable file not found in $PATH")),
            verdict(&ending(137, "Evicted", "the node was low on memory")),
        ]);
    }
}
