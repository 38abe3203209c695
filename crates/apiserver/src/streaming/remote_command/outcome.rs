//! How a process ended, as clients want to read it on the error stream.

use serde_json::{Value, json};

use super::super::pods::Error;
use super::{V2, V3};

/// The exit code, or why there is none.
pub(super) type Outcome = Result<u8, Error>;

/// What goes to the error stream: a Status from v4 on, and before that a complaint or nothing.
pub(super) fn report(outcome: &Outcome, protocol: &str) -> String {
    match outcome {
        Ok(0) if is_plain(protocol) => String::new(),
        Ok(code) if is_plain(protocol) => complaint(*code),
        Err(error) if is_plain(protocol) => failure(error),
        Ok(0) => json!({"metadata": {}, "status": "Success"}).to_string(),
        Ok(code) => exited(*code).to_string(),
        Err(error) => failed(error).to_string(),
    }
}

fn is_plain(protocol: &str) -> bool {
    [V2, V3].contains(&protocol)
}

fn complaint(code: u8) -> String {
    format!("command terminated with non-zero exit code: exit code {code}")
}

fn failure(error: &Error) -> String {
    format!("error executing command in container: {error}")
}

fn exited(code: u8) -> Value {
    json!({
        "metadata": {},
        "status": "Failure",
        "message": complaint(code),
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]},
    })
}

fn failed(error: &Error) -> Value {
    json!({
        "metadata": {},
        "status": "Failure",
        "message": format!("Internal error occurred: {}", failure(error)),
        "reason": "InternalError",
        "details": {"causes": [{"message": failure(error)}]},
        "code": 500,
    })
}

#[cfg(test)]
mod tests {
    use super::super::V4;
    use super::*;

    #[test]
    fn the_exit_code_is_a_cause_of_the_status() {
        let status: Value = serde_json::from_str(&report(&Ok(3), V4)).unwrap();
        assert_eq!(status["reason"], "NonZeroExitCode");
        assert_eq!(status["details"]["causes"][0], json!({"reason": "ExitCode", "message": "3"}));
    }

    #[test]
    fn older_clients_read_text_and_take_silence_for_success() {
        assert_eq!(report(&Ok(0), V3), "");
        assert_eq!(report(&Ok(3), V2), "command terminated with non-zero exit code: exit code 3");
    }
}
