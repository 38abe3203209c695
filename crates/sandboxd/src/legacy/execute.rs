//! `POST /execute`: runs a command, without a shell, and answers when it has ended. What goes wrong with the command is an answer
//! too; only a body that makes no sense is refused.

use std::rc::Rc;
use std::time::Duration;

use http::Request;
use http::header::CONTENT_TYPE;
use hyper::body::Incoming;
use rustix::fs::OFlags;
use serde_json::Value;

use super::validation::Invalid;
use super::words::split;
use crate::failure::Failure;
use crate::files::path::Inside;
use crate::http::answer;
use crate::http::payload::Reply;
use crate::processes::launch::Launch;
use crate::processes::process::Ended;
use crate::processes::run::{Outcome, run};
use crate::server::Server;
use crate::settings::limits::size;
use crate::wire::legacy::Executed;

/// What `timeout` of the shell ends with, and what the SDK makes of a deadline.
const TIMED_OUT: i32 = 124;
/// A year: more is no limit, and clocks cannot count it.
const LONGEST: f64 = 31_536_000.0;

#[derive(Clone, Debug, PartialEq)]
struct Asked {
    command: String,
    timeout: Option<Duration>,
}

pub(super) async fn execute(server: &Rc<Server>, request: Request<Incoming>) -> Reply {
    let is_json = is_json(request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()));
    let body = match server.small_body(request).await {
        Ok(body) => body,
        Err(failure) => return answer::failure(&failure),
    };
    let asked = match parse(&body, is_json) {
        Ok(asked) => asked,
        Err(invalid) => return invalid.reply(),
    };
    let executed = match started(server, asked).await {
        Ok(outcome) => executed(outcome, server.settings.limits.output_bytes),
        Err(failure) => failed(&failure.message),
    };
    answer::ok(&executed)
}

async fn started(server: &Rc<Server>, asked: Asked) -> Result<Outcome, Failure> {
    let words = split(&asked.command).map_err(|error| Failure::invalid(error.to_string()))?;
    let directory = server.root.get(&Inside::root(), OFlags::PATH | OFlags::DIRECTORY);
    let directory = directory.map_err(|errno| Failure::of(errno, "opening the root directory"))?;
    let mut launch = Launch::new(words, directory);
    let default = Duration::from_secs(server.settings.limits.execute_seconds);
    launch.timeout = Some(asked.timeout.unwrap_or(default));
    run(&server.processes, launch, size(server.settings.limits.output_bytes)).await
}

fn failed(reason: &str) -> Executed {
    let stderr = format!("Failed to execute command: {reason}");
    Executed { stderr, exit_code: 1, ..Executed::default() }
}

fn executed(outcome: Outcome, most: u64) -> Executed {
    let mut stderr = String::from_utf8_lossy(&outcome.stderr).into_owned();
    if outcome.truncated {
        stderr.extend(["\nsandboxd: output beyond ", &most.to_string(), " bytes was cut off\n"]);
    }
    let exit_code = match outcome.ended {
        _ if outcome.timed_out => TIMED_OUT,
        Ended::Code(code) => code,
        // As Python says it.
        Ended::Signal(signal) => -signal,
    };
    let stdout = String::from_utf8_lossy(&outcome.stdout).into_owned();
    Executed { stdout, stderr, exit_code, timed_out: outcome.timed_out, truncated: outcome.truncated }
}

fn is_json(content_type: Option<&str>) -> bool {
    let Some(kind) = content_type else { return true };
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

fn parse(body: &[u8], is_json: bool) -> Result<Asked, Invalid> {
    if body.is_empty() {
        return Err(Invalid::missing(&["body"], Value::Null));
    }
    if !is_json {
        return Err(Invalid::no_object(Value::String(String::from_utf8_lossy(body).into_owned())));
    }
    let body: Value = serde_json::from_slice(body).map_err(|error| Invalid::no_json(error.column()))?;
    let Value::Object(fields) = &body else { return Err(Invalid::no_object(body)) };
    let command = match fields.get("command") {
        None => return Err(Invalid::missing(&["body", "command"], body)),
        Some(Value::String(command)) => command.clone(),
        Some(other) => {
            let message = "Input should be a valid string";
            return Err(Invalid::new("string_type", &["body", "command"], message, other.clone()));
        }
    };
    Ok(Asked { command, timeout: timeout(fields.get("timeout_seconds").unwrap_or(&Value::Null))? })
}

/// A number, or one in quotes, as FastAPI takes them.
fn timeout(value: &Value) -> Result<Option<Duration>, Invalid> {
    let invalid = |kind, message| Invalid::new(kind, &["body", "timeout_seconds"], message, value.clone());
    let seconds = match value {
        Value::Null => return Ok(None),
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => return Err(invalid("float_type", "Input should be a valid number")),
    };
    let unparsed = "Input should be a valid number, unable to parse string as a number";
    let seconds: f64 = seconds.ok_or_else(|| invalid("float_parsing", unparsed))?;
    if !seconds.is_finite() {
        return Err(invalid("finite_number", "Input should be a finite number"));
    }
    if seconds <= 0.0 {
        return Err(invalid("greater_than", "Input should be greater than 0"));
    }
    Ok(Some(Duration::from_secs_f64(seconds.min(LONGEST))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn parsed(body: &str) -> Result<Asked, Invalid> {
        parse(body.as_bytes(), true)
    }

    fn timeout_of(body: &str) -> Option<Duration> {
        parsed(body).unwrap().timeout
    }

    #[test]
    fn a_command_and_its_time_are_read() {
        assert_eq!(
            parsed(r#"{"command": "ls -l"}"#),
            Ok(Asked { command: "ls -l".to_owned(), timeout: None })
        );
        assert_eq!(
            timeout_of(r#"{"command": "a", "timeout_seconds": 2.5}"#),
            Some(Duration::from_millis(2500))
        );
        assert_eq!(timeout_of(r#"{"command": "a", "timeout_seconds": "2"}"#), Some(Duration::from_secs(2)));
        assert_eq!(timeout_of(r#"{"command": "a", "timeout_seconds": null, "more": 1}"#), None);
    }

    #[test]
    fn what_is_missing_is_said_as_fastapi_says_it() {
        let refusals = [
            "{}",
            "",
            "{",
            "[1]",
            r#"{"command": 5}"#,
            r#"{"command": "a", "timeout_seconds": 0}"#,
            r#"{"command": "a", "timeout_seconds": "soon"}"#,
            r#"{"command": "a", "timeout_seconds": []}"#,
        ]
        .map(|body| json!({"body": body, "refusal": parsed(body).unwrap_err().shown()}));
        insta::assert_json_snapshot!(refusals);
    }

    #[test]
    fn a_body_of_another_kind_is_no_command() {
        assert!(parse(br#"{"command": "a"}"#, false).is_err());
        let kinds = ["application/json", "application/json; charset=utf-8", "application/x+json"];
        assert!(kinds.iter().all(|kind| is_json(Some(kind))) && is_json(None));
        assert!(!is_json(Some("text/plain")) && !is_json(Some("application/x-www-form-urlencoded")));
    }

    proptest! {
        #[test]
        fn nothing_breaks_it(body in ".*", seconds in any::<f64>()) {
            let _ = parsed(&body);
            let _ = parsed(&format!(r#"{{"command": "a", "timeout_seconds": {seconds}}}"#));
        }
    }
}
