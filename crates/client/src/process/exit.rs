//! What the last word about a command says: its exit code, or why there is none. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;

use crate::error::Error;

/// The exit code.
pub(super) fn code(status: &Status) -> Result<i32, Error> {
    if status.status.as_deref() == Some("Success") {
        return Ok(0);
    }
    let not_started = || Error::NotStarted { message: status.message.clone().unwrap_or_default() };
    if status.reason.as_deref() != Some("NonZeroExitCode") {
        return Err(not_started());
    }
    let causes = status.details.as_ref().and_then(|details| details.causes.as_ref()).into_iter().flatten();
    let code = causes
        .filter(|cause| cause.reason.as_deref() == Some("ExitCode"))
        .find_map(|cause| cause.message.as_ref()?.parse().ok());
    code.ok_or_else(not_started)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(status: Value) -> Result<i32, String> {
        code(&serde_json::from_value(status).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_command_that_ends_tells_its_code() {
        assert_eq!(read(json!({"status": "Success"})), Ok(0));
        let causes = json!({"causes": [{"reason": "ExitCode", "message": "7"}]});
        assert_eq!(read(json!({"status": "Failure", "reason": "NonZeroExitCode", "details": causes})), Ok(7));
    }

    #[test]
    fn a_command_that_did_not_start_says_why() {
        let said = read(json!({"status": "Failure", "reason": "InternalError", "message": "no such file"}));
        assert_eq!(said.unwrap_err(), "the command could not be started: no such file");
    }
}
