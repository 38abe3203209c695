//! Answers that come while the client still sends. A client that looks for its answer only when it has sent everything finds it.

use std::io::{BufReader, Write};

use serde_json::json;

use super::requests;
use super::service::Service;

/// More than fits into the buffers of both sides.
const LARGE: usize = 16 * 1024 * 1024;

/// Sends all of it, and only then reads.
fn status(service: &Service, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> u16 {
    let length = body.len().to_string();
    let headers = [&[("Content-Length", length.as_str())], headers].concat();
    let mut stream = service.open(method, path, &headers);
    stream.write_all(body).unwrap_or_else(|error| panic!("{method} {path}: {error}"));
    requests::head(&mut BufReader::new(stream)).0
}

#[test]
fn what_is_too_large_is_told_so() {
    let service = Service::with(&["--max-request-bytes", "1000", "--max-upload-bytes", "1000"]);
    let body = vec![b'x'; LARGE];
    assert_eq!(status(&service, "POST", "/v1/processes", &[], &body), 413);
    assert_eq!(status(&service, "POST", "/execute", &[("Content-Type", "application/json")], &body), 413);
    assert_eq!(status(&service, "PUT", "/v1/files/x", &[], &body), 413);
    assert_eq!(status(&service, "PUT", "/v1/archive/x", &[], &body), 413);
    assert_eq!(service.get("/v1/health").status, 200);
}

#[test]
fn what_is_refused_is_told_why() {
    let service = Service::start();
    let body = vec![b'x'; LARGE];
    assert_eq!(status(&service, "PUT", "/v1/files/x?mode=9", &[], &body), 400);
    assert_eq!(status(&service, "PUT", "/v1/archive/x", &[], &body), 400);
    assert_eq!(status(&service, "PUT", "/v1/move", &[], &body), 405);
    assert_eq!(status(&service, "POST", "/nothing", &[], &body), 404);
    let form = [("Content-Type", "multipart/form-data")];
    assert_eq!(status(&service, "POST", "/upload", &form, &body), 400);
}

#[test]
fn whoever_has_no_token_is_told_so() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "known").unwrap();
    let service = Service::with(&["--bearer-token-file", file.path().to_str().unwrap()]);
    assert_eq!(status(&service, "PUT", "/v1/files/x", &[], &vec![b'x'; LARGE]), 401);
}

#[test]
fn a_process_that_takes_no_more_input_is_said_to() {
    let service = Service::start();
    let id = service.post("/v1/processes", &json!({"command": ["true"], "stdin": true})).json()["id"].clone();
    service.get(&format!("/v1/processes/{id}/wait"));
    let path = format!("/v1/processes/{id}/stdin");
    assert_eq!(status(&service, "POST", &path, &[], &vec![b'x'; LARGE]), 412);
    assert_eq!(status(&service, "POST", "/v1/processes/99/stdin", &[], &vec![b'x'; LARGE]), 404);
}

#[test]
fn a_head_that_is_too_large_is_told_so() {
    let service = Service::with(&["--max-header-bytes", "8192"]);
    let long = "x".repeat(LARGE);
    assert_eq!(status(&service, "GET", "/v1/health", &[("X-Long", &long)], b""), 431);
}

#[test]
fn whoever_finds_no_room_is_told_so() {
    let service = Service::with(&["--max-connections", "1"]);
    let held = service.connect();
    super::wait::until("there is no room", || (service.get("/v1/health").status == 503).then_some(()));
    assert_eq!(status(&service, "PUT", "/v1/files/x", &[], &vec![b'x'; LARGE]), 503);
    drop(held);
}
